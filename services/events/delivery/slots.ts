import { DeliveryError } from './errors.ts';

export interface SlotLimits {
  max: number;
  maxPerHost: number;
  maxWaiting: number;
}

interface Waiter {
  host: string;
  start: () => void;
}

/**
 * Limits how many deliveries are in flight, in total and to one host. Further ones wait in order of arrival; those for a
 * host that has a free slot do not wait behind those for a host that has none.
 */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #inFlight = new Map<string, number>();
  readonly #waiting = new Set<Waiter>();
  #total = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /**
   * Waits for a slot. Throws a DeliveryError if too many wait already or if the signal is aborted first. The caller
   * must call `release` afterwards.
   */
  async acquire(host: string, signal: AbortSignal): Promise<void> {
    if (this.#isFree(host)) return this.#take(host);
    if (this.#waiting.size >= this.#limits.maxWaiting) throw tooMany();
    const granted = Promise.withResolvers<void>();
    const waiter: Waiter = { host, start: granted.resolve };
    const abort = () => {
      this.#waiting.delete(waiter);
      granted.reject(tooMany());
    };
    this.#waiting.add(waiter);
    signal.addEventListener('abort', abort, { once: true });
    await granted.promise.finally(() => signal.removeEventListener('abort', abort));
  }

  release(host: string): void {
    this.#total -= 1;
    const others = (this.#inFlight.get(host) ?? 0) - 1;
    if (others > 0) this.#inFlight.set(host, others);
    else this.#inFlight.delete(host);
    for (const waiter of this.#waiting) {
      if (!this.#isFree(waiter.host)) continue;
      this.#waiting.delete(waiter);
      this.#take(waiter.host);
      waiter.start();
      return;
    }
  }

  #isFree(host: string): boolean {
    return this.#total < this.#limits.max && (this.#inFlight.get(host) ?? 0) < this.#limits.maxPerHost;
  }

  #take(host: string): void {
    this.#total += 1;
    this.#inFlight.set(host, (this.#inFlight.get(host) ?? 0) + 1);
  }
}

const tooMany = () => new DeliveryError('too many deliveries at the same time', { isOurs: true });
