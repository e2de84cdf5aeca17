/** The maximum number of game servers of a guild. Each game server may have one waiting poll. */
export const SERVERS_PER_GUILD = 2_000;

/**
 * Returns how many of `max` slots one holder may take: a tenth, or `needed` if that is more, but then at most half of
 * all.
 */
export function shareOf(max: number, needed = 0): number {
  return Math.max(1, Math.floor(max / 10), Math.min(needed, Math.floor(max / 2)));
}

/**
 * A limited number of slots, such as those for concurrent requests. Each holder, such as a guild or a client address,
 * may take a share of them.
 */
export class SharedSlots<Holder> {
  readonly #max: number;
  readonly #maxPerHolder: number;
  /**
   * The number of slots of each holder. Holders without a slot are removed, so the map is never larger than the number
   * of slots.
   */
  readonly #taken = new Map<Holder, number>();
  #total = 0;

  constructor(max: number, maxPerHolder: number) {
    this.#max = max;
    this.#maxPerHolder = maxPerHolder;
  }

  /** The number of slots that all holders together have taken now. */
  get taken(): number {
    return this.#total;
  }

  /** True if all slots are taken. */
  get isFull(): boolean {
    return this.#total >= this.#max;
  }

  /** Takes a slot for the holder. Returns false if no slot is left or the holder already has its whole share. */
  take(holder: Holder): boolean {
    const taken = this.#taken.get(holder) ?? 0;
    if (this.isFull || taken >= this.#maxPerHolder) return false;
    this.#taken.set(holder, taken + 1);
    this.#total++;
    return true;
  }

  /** Releases one slot of the holder, which must have at least one. */
  release(holder: Holder): void {
    const taken = this.#taken.get(holder) ?? 0;
    if (taken <= 1) this.#taken.delete(holder);
    else this.#taken.set(holder, taken - 1);
    this.#total--;
  }
}
