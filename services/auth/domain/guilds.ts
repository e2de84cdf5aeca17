import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { appendEntries } from '../store/audit.ts';
import { type GuildRecord, lockSuspension, selectGuild, selectGuilds, setSuspended } from '../store/guilds.ts';
import * as store from '../store/keys.ts';
import type { AuthTelemetry } from '../telemetry.ts';
import { ownEntry } from './audit/entry.ts';
import { encodeChange } from './changes.ts';

export interface GuildAdminOptions {
  database: Database;
  clock: Clock;
  telemetry: AuthTelemetry;
}

/** Lists, suspends and resumes guilds. `note` is the operator's note for the audit; empty if there is none. */
export class GuildAdmin {
  readonly #options: GuildAdminOptions;

  constructor(options: GuildAdminOptions) {
    this.#options = options;
  }

  /** Returns a page of guilds, ordered by ID, starting after the guild `after`. */
  list(after: string, limit: number): Promise<GuildRecord[]> {
    return selectGuilds(this.#options.database, after, this.#now(), limit);
  }

  /**
   * Suspends a guild: all API keys of the guild are invalid until `resume`. Throws NOT_FOUND if the guild never had a
   * key.
   */
  suspend(guildId: string, note: string): Promise<GuildRecord> {
    return this.#setSuspended(guildId, true, note);
  }

  /**
   * Resumes a suspended guild: the API keys of the guild are valid again. Throws NOT_FOUND if the guild never had a
   * key.
   */
  resume(guildId: string, note: string): Promise<GuildRecord> {
    return this.#setSuspended(guildId, false, note);
  }

  /**
   * Suspends or resumes a guild. The change holds the lock of the guild like every change of API keys, and shares a
   * transaction with its audit entry.
   */
  async #setSuspended(guildId: string, isSuspended: boolean, note: string): Promise<GuildRecord> {
    const { database, telemetry } = this.#options;
    const action = isSuspended ? 'suspend' : 'resume';
    const changed = await database.transaction(async (transaction) => {
      const guild = await lockSuspension(transaction, guildId);
      if (!guild) throw new ApiError('NOT_FOUND', { message: 'The guild has no keys and never had any' });
      if ((guild.suspendedAt !== null) === isSuspended) return undefined;
      const now = this.#now();
      const numbers = await setSuspended(transaction, guildId, isSuspended ? now : null, now);
      await appendEntries(transaction, guildId, [null], ownEntry(now, { action, note, details: {} }));
      const changes = await store.selectChanges(transaction, guildId, numbers);
      await store.notifyChanges(transaction, changes.map(encodeChange));
      return numbers;
    });
    if (changed) telemetry.guildChanged(guildId, action, changed.length);
    const guild = await selectGuild(database, guildId, this.#now());
    if (!guild) throw new Error('a guild that was just changed does not exist');
    return guild;
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}
