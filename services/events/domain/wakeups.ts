/** Tells readers of this process that a guild has new events. Readers must also look by themselves from time to time. */
export class Wakeups {
  readonly #byGuild = new Map<string, Set<() => void>>();
  readonly #ofAll = new Set<(guildIds: readonly string[] | undefined) => void>();

  /** Calls `callback` when the guild may have new events, until the returned function is called. */
  subscribe(guildId: string, callback: () => void): () => void {
    const others = this.#byGuild.get(guildId) ?? new Set();
    this.#byGuild.set(guildId, others.add(callback));
    return () => {
      others.delete(callback);
      if (others.size === 0 && this.#byGuild.get(guildId) === others) this.#byGuild.delete(guildId);
    };
  }

  /**
   * Calls `callback` when guilds may have new events, until the returned function is called. Without guild IDs any guild
   * may have some, because notifications were missed.
   */
  onAnyGuild(callback: (guildIds: readonly string[] | undefined) => void): () => void {
    this.#ofAll.add(callback);
    return () => void this.#ofAll.delete(callback);
  }

  /** Wakes the readers of some guilds; without guild IDs all readers. */
  wake(guildIds?: readonly string[]): void {
    for (const callback of this.#ofAll) callback(guildIds);
    for (const guildId of guildIds ?? [...this.#byGuild.keys()]) {
      for (const callback of this.#byGuild.get(guildId) ?? []) callback();
    }
  }
}
