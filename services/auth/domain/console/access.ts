import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import { type GuildRole, includesGuildRole } from '#proto/console/roles.ts';
import type { ConsoleTelemetry } from '../../console-telemetry.ts';
import { appendEntries } from '../../store/audit.ts';
import * as store from '../../store/console/access.ts';
import { insertGuild } from '../../store/console/links.ts';
import { lockGuild } from '../../store/keys.ts';
import { actingPerson } from '../audit/acting-person.ts';
import { countPersonChange } from '../audit/daily-limit.ts';
import { ownEntry } from '../audit/entry.ts';

/** The maximum number of chat accounts with a given role in a guild. */
export const MAX_ACCESS = 200;

export interface AccessOptions {
  database: Database;
  clock: Clock;
  telemetry: ConsoleTelemetry;
}

/**
 * Gives chat accounts roles in a guild. Nobody gives a role above their own, or changes the role of somebody above them.
 * The calls are made for a person (`actAs`). Each change holds the lock of the guild and shares a transaction with its
 * audit entry.
 */
export class Access {
  readonly #options: AccessOptions;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  list(guildId: string): Promise<store.AccessRow[]> {
    return store.selectAccess(this.#options.database, guildId, MAX_ACCESS);
  }

  /** Gives a role, or changes it. Throws ROLE_TOO_LOW, and CONFLICT if too many accounts have a role. */
  set(guildId: string, chatId: string, role: GuildRole): Promise<store.AccessRow> {
    return this.#change(guildId, chatId, async (transaction, before, now) => {
      requireRole(role);
      if (before?.role === role) return before;
      await countPersonChange(transaction, guildId, now);
      if (!before && (await store.countAccess(transaction, guildId)) >= MAX_ACCESS) {
        throw new ApiError('CONFLICT', {
          message: `${MAX_ACCESS} persons have access to the guild, which is the maximum: remove one first`,
        });
      }
      const after = { guildId, chatId, role, givenBy: acting().id, givenAt: now };
      await store.upsertAccess(transaction, after);
      await this.#record(transaction, now, 'set_access', before, after);
      return after;
    });
  }

  /** Removes the role of a chat account. Throws ROLE_TOO_LOW, and NOT_FOUND if it was given none. */
  async remove(guildId: string, chatId: string): Promise<void> {
    await this.#change(guildId, chatId, async (transaction, before, now) => {
      if (!before) throw new ApiError('NOT_FOUND', { message: 'This person was given no role in the guild' });
      await store.deleteAccess(transaction, guildId, chatId);
      await this.#record(transaction, now, 'remove_access', before, undefined);
    });
  }

  /** Throws ROLE_TOO_LOW if a chat account was given a role above that of the acting person. */
  async requireNotAbove(guildId: string, chatId: string): Promise<void> {
    const row = await store.selectOneAccess(this.#options.database, guildId, chatId);
    if (row) requireRole(row.role);
  }

  #change<Result>(
    guildId: string,
    chatId: string,
    work: (transaction: Transaction, before: store.AccessRow | undefined, now: Date) => Promise<Result>,
  ): Promise<Result> {
    const { database, clock } = this.#options;
    return database.transaction(async (transaction) => {
      await insertGuild(transaction, guildId);
      await lockGuild(transaction, guildId);
      const before = await store.selectOneAccess(transaction, guildId, chatId);
      if (before) requireRole(before.role);
      return work(transaction, before, new Date(clock.now()));
    });
  }

  async #record(
    transaction: Transaction,
    now: Date,
    action: 'set_access' | 'remove_access',
    before: store.AccessRow | undefined,
    after: store.AccessRow | undefined,
  ): Promise<void> {
    const { guildId, chatId } = (after ?? before) as store.AccessRow;
    const state = (row: store.AccessRow | undefined) => row && { role: row.role };
    const details = { chat_id: chatId, before: state(before) ?? null, after: state(after) ?? null };
    await appendEntries(transaction, guildId, [null], ownEntry(now, { action, note: '', details }));
    this.#options.telemetry.accessChanged(guildId, action);
  }
}

function acting() {
  const person = actingPerson();
  if (!person) throw new Error('access is changed only by persons');
  return person;
}

/** Throws ROLE_TOO_LOW if a role is above that of the acting person. */
function requireRole(role: GuildRole): void {
  const own = acting().role;
  if (includesGuildRole(own, role)) return;
  throw new ApiError('ROLE_TOO_LOW', {
    message: `Only a person with the role ${role} can do this, and yours is ${own}`,
  });
}
