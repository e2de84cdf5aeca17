import type { EngineClock } from './clock.ts';
import type { DataStoreEffect } from './vm.ts';

const WRITE_COOLDOWN_MS = 6000;
const CACHE_MS = 4000;
const QUEUE_SIZE = 30;
const LATENCY_MS = 100;
const MINUTE_MS = 60_000;

type RequestType = 'GetAsync' | 'SetIncrementAsync';

interface Entry {
  value: string;
  version: number;
}

export interface DataStoreResult {
  value?: string;
  version?: number;
  replaced?: boolean;
}

/** The values of a universe, which all of its servers share and which outlive them. */
export class DataStores {
  readonly entries = new Map<string, Entry>();
  /** Tests of the size limit use a lower limit, because the VM has only 17 MB of memory. */
  maxValueBytes = 4_194_304;
  /** Makes requests fail: returns the message of the error. */
  fail: (effect: DataStoreEffect) => string | undefined = () => undefined;
  #version = 0;

  read(key: string): DataStoreResult {
    const entry = this.entries.get(key);
    return entry ? { value: entry.value, version: entry.version } : { version: 0 };
  }

  write(key: string, value: string): void {
    this.entries.set(key, { value, version: ++this.#version });
  }

  /** Writes unless another server has written since that version was read. */
  replace(key: string, value: string, version: number): boolean {
    if ((this.entries.get(key)?.version ?? 0) !== version) return false;
    this.write(key, value);
    return true;
  }
}

/** The requests of one server: its budget, the pause between writes of a key, and the cache of reads. */
export class DataStoreLimits {
  readonly #clock: EngineClock;
  readonly #stores: DataStores;
  readonly #playerCount: () => number;
  readonly #warn: (text: string) => void;
  readonly #used: Record<RequestType, number[]> = { GetAsync: [], SetIncrementAsync: [] };
  readonly #writable = new Map<string, number>();
  readonly #cache = new Map<string, { until: number; result: DataStoreResult }>();
  #queued = 0;

  constructor(options: {
    clock: EngineClock;
    stores: DataStores;
    playerCount: () => number;
    warn: (text: string) => void;
  }) {
    this.#clock = options.clock;
    this.#stores = options.stores;
    this.#playerCount = options.playerCount;
    this.#warn = options.warn;
  }

  budget(type: string): number {
    if (type === 'UpdateAsync') return Math.min(this.budget('GetAsync'), this.budget('SetIncrementAsync'));
    return 60 + 10 * this.#playerCount() - this.#recent(type as RequestType).length;
  }

  async request(effect: DataStoreEffect): Promise<DataStoreResult> {
    const key = `${effect.store}/${effect.key}`;
    const { maxValueBytes } = this.#stores;
    if (Buffer.byteLength(effect.value ?? '') > maxValueBytes) {
      throw new Error(`105: Serialized value exceeds ${maxValueBytes} byte limit.`);
    }
    if (effect.operation === 'get') {
      const cached = this.#cache.get(key);
      if (cached && cached.until > this.#clock.now()) return cached.result;
    }
    const writes = effect.operation !== 'get' && effect.operation !== 'read';
    await this.#admitted(writes ? 'SetIncrementAsync' : 'GetAsync', writes ? key : undefined, effect.key);
    await this.#pass(LATENCY_MS);
    const problem = this.#stores.fail(effect);
    if (problem !== undefined) throw new Error(problem);
    const result = this.#apply(effect, key);
    if (effect.operation === 'get') this.#cache.set(key, { until: this.#clock.now() + CACHE_MS, result });
    else if (writes) this.#cache.delete(key);
    return result;
  }

  #apply(effect: DataStoreEffect, key: string): DataStoreResult {
    if (effect.operation === 'set') {
      this.#stores.write(key, effect.value ?? 'null');
      return {};
    }
    if (effect.operation === 'replace') {
      return { replaced: this.#stores.replace(key, effect.value ?? 'null', effect.version ?? 0) };
    }
    const current = this.#stores.read(key);
    if (effect.operation === 'remove') this.#stores.entries.delete(key);
    return current;
  }

  // Requests above the budget, and writes of a key that was just written, wait in a queue. Above its size they fail.
  async #admitted(type: RequestType, writtenKey: string | undefined, name: string): Promise<void> {
    const mustWait = () => this.budget(type) <= 0 || this.#writableAt(writtenKey) > this.#clock.now();
    if (mustWait()) {
      if (this.#queued >= QUEUE_SIZE)
        throw new Error(`${type === 'GetAsync' ? 306 : 301}: request dropped, queue is full`);
      this.#warn(
        'DataStore request was added to queue. If request queue fills, further requests will be dropped. ' +
          `Try sending fewer requests. Key = ${name}`,
      );
      this.#queued++;
      try {
        while (mustWait()) {
          await this.#pass(Math.max(100, Math.min(1000, this.#writableAt(writtenKey) - this.#clock.now())));
        }
      } finally {
        this.#queued--;
      }
    }
    this.#recent(type).push(this.#clock.now());
    if (writtenKey !== undefined) this.#writable.set(writtenKey, this.#clock.now() + WRITE_COOLDOWN_MS);
  }

  #writableAt(key: string | undefined): number {
    return key === undefined ? 0 : (this.#writable.get(key) ?? 0);
  }

  #recent(type: RequestType): number[] {
    const oldest = this.#clock.now() - MINUTE_MS;
    this.#used[type] = this.#used[type].filter((at) => at > oldest);
    return this.#used[type];
  }

  async #pass(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#clock.schedule(this.#clock.now() + milliseconds, resolve);
    });
  }
}
