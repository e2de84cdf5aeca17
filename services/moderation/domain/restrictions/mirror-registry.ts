import type { EventSweep } from '#kit/events/sweeper.ts';
import type { Database } from '#kit/postgres/pool.ts';
import {
  type GuildUniverses,
  listMirroringGuilds,
  lockRegistry,
  storeUniverses,
} from '../../store/mirrored-universes.ts';
import type { MirrorTelemetry } from '../../telemetry.ts';

const PAGE = 500;
/** The universes that the operator allows, if not all: `GUILD_ID:UNIVERSE_ID`. */
const ALL = '*';

export interface MirrorRegistryOptions {
  database: Database;
  /** Returns up to `limit` guilds, after a guild, whose settings name universes. */
  list: (afterGuildId: string, limit: number) => Promise<readonly GuildUniverses[]>;
  /** The universes that may be used: `*`, or entries such as `900000000000000001:30001`. */
  allowed: readonly string[];
  /** Returns milliseconds of a clock that never goes back. */
  now: () => number;
  everyMs: number;
  telemetry: MirrorTelemetry;
}

/** Stores to which universes the bans of each guild are mirrored, as the settings of the guilds say. */
export class MirrorRegistry {
  readonly #options: MirrorRegistryOptions;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(options: MirrorRegistryOptions) {
    this.#options = options;
  }

  /** The sweep that reads all settings every `everyMs`. */
  get sweep(): EventSweep {
    return {
      name: 'settings of mirrored bans',
      sweep: async () => {
        const { now, everyMs } = this.#options;
        if (now() < this.#nextAt) return false;
        await this.readAll();
        this.#nextAt = now() + everyMs;
        return false;
      },
    };
  }

  /** Reads the settings of all guilds. While they cannot be read, the universes stay as they are. */
  async readAll(): Promise<void> {
    for (let after: string | undefined = ''; after !== undefined; ) after = await this.#readPage(after);
  }

  /** Returns the last guild of the page; undefined after the last page. */
  #readPage(after: string): Promise<string | undefined> {
    const { database, list, telemetry } = this.#options;
    return database.transaction(async (transaction) => {
      // The settings are read under the lock, so that a replica does not store settings that another one has replaced.
      if (!(await lockRegistry(transaction))) return undefined;
      const wanted = await list(after, PAGE);
      const end = wanted.length < PAGE ? undefined : wanted.at(-1)?.guildId;
      const known = await listMirroringGuilds(transaction, after, end);
      const gone = known.filter(({ guildId }) => !wanted.some((guild) => guild.guildId === guildId));
      for (const guild of gone) await storeUniverses(transaction, { ...guild, universeIds: [] });
      for (const guild of wanted) {
        const universeIds = guild.universeIds.filter((id) => this.#isAllowed(guild.guildId, id));
        const current = known.find(({ guildId }) => guildId === guild.guildId);
        if (current && isSame(current, { ...guild, universeIds })) continue;
        const taken = await storeUniverses(transaction, { ...guild, universeIds });
        if (taken.length > 0) telemetry.conflicted(guild.guildId, taken);
      }
      return end;
    });
  }

  #isAllowed(guildId: string, universeId: number): boolean {
    const { allowed } = this.#options;
    return allowed.includes(ALL) || allowed.includes(`${guildId}:${universeId}`);
  }
}

function isSame(one: GuildUniverses, other: GuildUniverses): boolean {
  const sorted = ({ universeIds }: GuildUniverses) => universeIds.toSorted((left, right) => left - right).join();
  return one.excludeAlts === other.excludeAlts && sorted(one) === sorted(other);
}
