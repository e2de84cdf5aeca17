import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { appendEntries } from '../store/audit.ts';
import { type GuildRecord, lockSuspension, selectGuild, selectGuilds, setSuspended } from '../store/guilds.ts';
import * as store from '../store/keys.ts';
import type { AuthEvents } from '../telemetry.ts';
import { ownEntry } from './audit/entry.ts';
import { encodeChange } from './changes.ts';

export interface GuildAdminOptions {
  database: Database;
  clock: Clock;
  events: AuthEvents;
}

/** Lists guilds, suspends and resumes them. */
export class GuildAdmin {
  readonly #options: GuildAdminOptions;

  constructor(options: GuildAdminOptions) {
    this.#options = options;
  }

  /** A page of guilds behind one. */
  list(after: string, limit: number): Promise<GuildRecord[]> {
    return selectGuilds(this.#options.database, after, this.#now(), limit);
  }

  /** Refuses every key of the guild as if it were revoked. NOT_FOUND where the guild never had a key. */
  suspend(guildId: string, note: string): Promise<GuildRecord> {
    return this.#set(guildId, true, note);
  }

  /** Undoes `suspend`. */
  resume(guildId: string, note: string): Promise<GuildRecord> {
    return this.#set(guildId, false, note);
  }

  /** The change and its entry are one transaction, under the lock of the guild, as every change of its keys. */
  async #set(guildId: string, isSuspended: boolean, note: string): Promise<GuildRecord> {
    const { database, events } = this.#options;
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
    if (changed) events.guildChanged(guildId, action, changed.length);
    const guild = await selectGuild(database, guildId, this.#now());
    if (!guild) throw new Error('a guild that was just changed is not there');
    return guild;
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}
