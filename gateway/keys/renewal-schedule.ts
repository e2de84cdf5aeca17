/** Longer than any note lies ahead, unless the clock was set back since. */
const FURTHEST_MS = 120_000;

/** Keys by the second from which on they are to be verified again. */
export class Calendar {
  readonly #seconds = new Map<number, string[]>();
  readonly #max: number;
  #size = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Notes the key for a time in Unix milliseconds, unless as many as may be are noted already. */
  add(id: string, at: number): void {
    if (this.#size >= this.#max) return;
    this.#size += 1;
    const second = Math.ceil(at / 1000);
    const ids = this.#seconds.get(second);
    if (ids) ids.push(id);
    else this.#seconds.set(second, [id]);
  }

  /** Takes out the keys whose time has come, or can't be told any more because the clock was set back. */
  take(now: number): string[] {
    const taken: string[] = [];
    for (const [second, ids] of this.#seconds) {
      const ahead = second * 1000 - now;
      if (ahead > 0 && ahead < FURTHEST_MS) continue;
      this.#seconds.delete(second);
      this.#size -= ids.length;
      for (const id of ids) taken.push(id);
    }
    return taken;
  }
}
