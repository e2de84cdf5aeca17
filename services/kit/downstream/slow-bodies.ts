import type { IncomingMessage } from 'node:http';
import { setImmediate as immediate } from 'node:timers/promises';

/** Slots of which each holder, such as a client network, may take some. */
export interface Slots<Holder> {
  readonly taken: number;
  take(holder: Holder): boolean;
  release(holder: Holder): void;
}

/**
 * Limits the request bodies that are arriving, before their requests count as in flight. Bodies that arrive together with their head, as
 * small ones mostly do, need no slot, so that they are received also while slow senders hold all of them.
 */
export class SlowBodies<Holder> {
  readonly #slots: Slots<Holder>;

  constructor(slots: Slots<Holder>) {
    this.#slots = slots;
  }

  /** The number of slow bodies that are arriving. */
  get count(): number {
    return this.#slots.taken;
  }

  /** Waits for a body that is being read. Returns undefined if it is slow and there are too many of them. */
  async receive(
    holder: Holder,
    request: Pick<IncomingMessage, 'complete'>,
    body: Promise<Buffer>,
  ): Promise<Buffer | undefined> {
    // A failure of the body before it is awaited must not be an unhandled rejection.
    body.catch(() => undefined);
    await immediate();
    if (request.complete) return body;
    if (!this.#slots.take(holder)) return undefined;
    return body.finally(() => this.#slots.release(holder));
  }
}
