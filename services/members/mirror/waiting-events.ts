import { performance } from 'node:perf_hooks';
import type { PreparedEvent } from './mirror-writer.ts';

const MAX_EVENTS = 20_000;
/** The maximum number of roles and members in all waiting events, each about 250 bytes in memory. */
const MAX_PARTS = 100_000;

/**
 * What the shards of a process together may have waiting, so that a process with many of them has memory for it. While they have
 * reached it, only shards that have less than an equal part go on.
 */
export class WaitingTotal {
  readonly maxEvents: number;
  readonly maxParts: number;
  readonly #shards = new Set<WaitingEvents>();

  constructor({ maxEvents = MAX_EVENTS, maxParts = MAX_PARTS } = {}) {
    this.maxEvents = maxEvents;
    this.maxParts = maxParts;
  }

  /** Adds a shard; it is removed by `delete`. */
  add(shard: WaitingEvents): void {
    this.#shards.add(shard);
  }

  delete(shard: WaitingEvents): void {
    this.#shards.delete(shard);
  }

  /** True if the shard may add no further event. */
  isFullFor({ size, parts }: WaitingEvents): boolean {
    const all = [...this.#shards];
    const share = 1 / all.length;
    const events = all.reduce((sum, shard) => sum + shard.size, 0);
    const allParts = all.reduce((sum, shard) => sum + shard.parts, 0);
    return (
      (events >= this.maxEvents && size >= share * this.maxEvents) ||
      (allParts >= this.maxParts && parts >= share * this.maxParts)
    );
  }
}

/** The events of a shard that were received and are not stored yet, in their order. */
export class WaitingEvents {
  readonly #total: WaitingTotal;
  readonly #events: (PreparedEvent & { receivedAt: number })[] = [];
  #parts = 0;

  constructor(total = new WaitingTotal()) {
    this.#total = total;
    total.add(this);
  }

  get size(): number {
    return this.#events.length;
  }

  /** The number of roles and members in the waiting events. */
  get parts(): number {
    return this.#parts;
  }

  /** True if no further event may be added. A single event is added even if it alone is larger than the maximum. */
  get isFull(): boolean {
    return this.#total.isFullFor(this);
  }

  /** Milliseconds since the oldest event was received; 0 without events. */
  get lagMs(): number {
    const [oldest] = this.#events;
    return oldest ? performance.now() - oldest.receivedAt : 0;
  }

  add(event: PreparedEvent): void {
    this.#events.push({ ...event, receivedAt: performance.now() });
    this.#parts += event.parts;
  }

  /** Returns up to `size` of the oldest events, all of one session: the numbers of two sessions cannot be compared. */
  oldest(size: number): PreparedEvent[] {
    const batch = this.#events.slice(0, size);
    const end = batch.findIndex(({ sessionId }) => sessionId !== batch[0]?.sessionId);
    return end === -1 ? batch : batch.slice(0, end);
  }

  /** Removes events that `oldest` returned. Returns false if they are not the oldest any more. */
  remove(batch: readonly PreparedEvent[]): boolean {
    const [first] = this.#events;
    if (first?.sequence !== batch[0]?.sequence || first?.sessionId !== batch[0]?.sessionId) return false;
    for (const { parts } of this.#events.splice(0, batch.length)) this.#parts -= parts;
    return true;
  }

  /** Called when the shard has ended. */
  end(): void {
    this.clear();
    this.#total.delete(this);
  }

  clear(): void {
    this.#events.length = 0;
    this.#parts = 0;
  }
}
