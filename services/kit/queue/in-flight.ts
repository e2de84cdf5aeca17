/** Counts the queue items in flight in this process and limits them, in total and for each guild. */
export class InFlight {
  readonly #max: number;
  readonly #maxPerGuild: number;
  readonly #running = new Map<string, Promise<void>>();
  readonly #guilds = new Map<string, number>();

  constructor(max: number, maxPerGuild = max) {
    this.#max = max;
    this.#maxPerGuild = maxPerGuild;
  }

  has(key: string): boolean {
    return this.#running.has(key);
  }

  /** Returns true if another item of the guild may be started now. */
  hasSlot(guildId: string): boolean {
    return this.#running.size < this.#max && (this.#guilds.get(guildId) ?? 0) < this.#maxPerGuild;
  }

  /** Waits until fewer items are in flight than the total limit. */
  async untilFree(): Promise<void> {
    while (this.#running.size >= this.#max) await Promise.race(this.#running.values());
  }

  /** Starts `work`, which must never reject, and returns when the work has ended and its slot is free. */
  add(guildId: string, key: string, work: () => Promise<void>): Promise<void> {
    this.#guilds.set(guildId, (this.#guilds.get(guildId) ?? 0) + 1);
    const running = work().finally(() => {
      this.#running.delete(key);
      const left = (this.#guilds.get(guildId) ?? 1) - 1;
      if (left > 0) this.#guilds.set(guildId, left);
      else this.#guilds.delete(guildId);
    });
    this.#running.set(key, running);
    return running;
  }

  /** Waits until all items in flight have ended. */
  async all(): Promise<void> {
    await Promise.all(this.#running.values());
  }
}
