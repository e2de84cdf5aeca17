type Callback = (guildIds: readonly string[] | undefined) => void;

/** Tells readers of this process that a guild has new events. Readers must also look by themselves from time to time. */
export class Wakeups {
  readonly #callbacks: Callback[] = [];

  /**
   * Calls `callback` when guilds may have new events. Without guild IDs any guild may have some, because notifications
   * were missed.
   */
  onWake(callback: Callback): void {
    this.#callbacks.push(callback);
  }

  /** Wakes the readers of some guilds; without guild IDs all readers. */
  wake(guildIds?: readonly string[]): void {
    for (const callback of this.#callbacks) callback(guildIds);
  }
}
