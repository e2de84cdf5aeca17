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

  /** Takes out the keys whose time has come. */
  take(now: number): string[] {
    const taken: string[] = [];
    for (const [second, ids] of this.#seconds) {
      if (second * 1000 > now) continue;
      this.#seconds.delete(second);
      this.#size -= ids.length;
      for (const id of ids) taken.push(id);
    }
    return taken;
  }
}
