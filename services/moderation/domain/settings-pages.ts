import type { EventSweep } from '#kit/events/sweeper.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import { lockSettingsTable } from '../store/settings-lock.ts';

const PAGE = 500;

/** The guilds after a guild and up to the guild `end`, or up to the last one, whose settings turn something on. */
export interface SettingsPage<Guild> {
  after: string;
  end: string | undefined;
  guilds: readonly Guild[];
}

export interface SettingsPagesOptions<Guild> {
  database: Database;
  /** The table that repeats the settings. */
  table: string;
  /** Returns up to `limit` guilds, after a guild, whose settings turn it on. */
  list: (afterGuildId: string, limit: number) => Promise<readonly Guild[]>;
  /** Stores the settings of a page. */
  store: (transaction: Transaction, page: SettingsPage<Guild>) => Promise<void>;
  /** Returns milliseconds of a clock that never goes back. */
  now: () => number;
  everyMs: number;
}

/** Repeats settings of guilds in a table, because the members service, which has them, may be down. */
export class SettingsPages<Guild extends { guildId: string }> {
  readonly #options: SettingsPagesOptions<Guild>;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(options: SettingsPagesOptions<Guild>) {
    this.#options = options;
  }

  /** The sweep that reads all settings every `everyMs`. */
  get sweep(): EventSweep {
    const { table, now, everyMs } = this.#options;
    return {
      name: `settings in ${table}`,
      sweep: async () => {
        if (now() < this.#nextAt) return false;
        await this.readAll();
        this.#nextAt = now() + everyMs;
        return false;
      },
    };
  }

  /** Reads the settings of all guilds. While they cannot be read, the table stays as it is. */
  async readAll(): Promise<void> {
    for (let after: string | undefined = ''; after !== undefined; ) after = await this.#readPage(after);
  }

  /** Returns the last guild of the page; undefined after the last page. */
  #readPage(after: string): Promise<string | undefined> {
    const { database, table, list, store } = this.#options;
    return database.transaction(async (transaction) => {
      // The settings are read under the lock, so that a replica does not store settings that another one has replaced.
      if (!(await lockSettingsTable(transaction, table))) return undefined;
      const guilds = await list(after, PAGE);
      const end = guilds.length < PAGE ? undefined : guilds.at(-1)?.guildId;
      await store(transaction, { after, end, guilds });
      return end;
    });
  }
}
