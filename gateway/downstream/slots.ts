/** How many servers one guild may run (contract, section 13): each of them may have a poll waiting. */
export const SERVERS_PER_GUILD = 2_000;

/**
 * The part of `max` slots that one holder may take: a tenth. Where a holder ordinarily needs `needed` slots it may take
 * that many, but never more than half of them all.
 */
export function shareOf(max: number, needed = 0): number {
  return Math.max(1, Math.floor(max / 10), Math.min(needed, Math.floor(max / 2)));
}

/** Slots of which each holder, such as a guild or a client address, has a limited share. */
export class SharedSlots<Holder> {
  readonly #max: number;
  readonly #maxPerHolder: number;
  /** Only holders that have a slot are in it, so that it cannot outgrow the slots. */
  readonly #taken = new Map<Holder, number>();
  #total = 0;

  constructor(max: number, maxPerHolder: number) {
    this.#max = max;
    this.#maxPerHolder = maxPerHolder;
  }

  /** Slots that are taken now, by all holders together. */
  get taken(): number {
    return this.#total;
  }

  /** Whether there is no slot left for anybody. */
  get isFull(): boolean {
    return this.#total >= this.#max;
  }

  /** Takes a slot; false, and no slot is taken, if none is left or the holder has its whole share. */
  take(holder: Holder): boolean {
    const taken = this.#taken.get(holder) ?? 0;
    if (this.isFull || taken >= this.#maxPerHolder) return false;
    this.#taken.set(holder, taken + 1);
    this.#total++;
    return true;
  }

  /** Gives one slot of the holder back, who must have one. */
  release(holder: Holder): void {
    const taken = this.#taken.get(holder) ?? 0;
    if (taken <= 1) this.#taken.delete(holder);
    else this.#taken.set(holder, taken - 1);
    this.#total--;
  }
}
