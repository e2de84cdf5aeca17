export interface LaneOptions {
  /** The maximum number of endpoints to which events are sent at the same time. */
  max: number;
  /** The maximum number of endpoints of one guild to which events are sent at the same time. */
  maxPerGuild: number;
}

/** A slot in a lane, held while events are sent to an endpoint. */
export interface Place {
  /** Releases the slot. Calling it again has no effect. */
  leave(): void;
}

/**
 * A concurrency limit: a number of slots for endpoints to which events are being sent, of which no guild may take all.
 */
export class Lane {
  readonly #options: LaneOptions;
  readonly #byGuild = new Map<string, number>();
  #used = 0;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  get used(): number {
    return this.#used;
  }

  get free(): number {
    return this.#options.max - this.#used;
  }

  /** Returns the number of slots that a guild has taken. */
  usedBy(guildId: string): number {
    return this.#byGuild.get(guildId) ?? 0;
  }

  /** Returns the number of slots that a guild may take now. */
  freeFor(guildId: string): number {
    const own = this.#options.maxPerGuild - this.usedBy(guildId);
    return Math.max(0, Math.min(own, this.free));
  }

  /** Returns the guilds that have reached their maximum although the lane has free slots. */
  get fullGuilds(): string[] {
    const { maxPerGuild } = this.#options;
    return [...this.#byGuild].filter(([, used]) => used >= maxPerGuild).map(([guildId]) => guildId);
  }

  /** Takes a slot. The caller must check first that one is free. */
  enter(guildId: string): Place {
    this.#change(guildId, 1);
    let isLeft = false;
    return {
      leave: () => {
        if (!isLeft) this.#change(guildId, -1);
        isLeft = true;
      },
    };
  }

  #change(guildId: string, by: number): void {
    const used = this.usedBy(guildId) + by;
    if (used > 0) this.#byGuild.set(guildId, used);
    else this.#byGuild.delete(guildId);
    this.#used += by;
  }
}
