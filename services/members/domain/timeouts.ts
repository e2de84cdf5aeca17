import type { Queryable } from '#kit/postgres/pool.ts';
import type { ChatChange, ChatMember, ChatPlatform } from '#platforms/chat.ts';
import { findSettings } from '../store/guild-settings.ts';
import {
  insertTimeoutChanges,
  listTimeoutChanges,
  newestTimeoutChange,
  type TimeoutChange,
} from '../store/timeout-changes.ts';
import { changesByGuild, type MemberChange } from './member-changes.ts';

export interface TimeoutsOptions {
  database: Queryable;
  chat: Pick<ChatPlatform, 'member' | 'changeTimeout'>;
}

/** The timeouts of members on the chat platform, which moderation compares with mutes. */
export class Timeouts {
  readonly #options: TimeoutsOptions;

  constructor(options: TimeoutsOptions) {
    this.#options = options;
  }

  /** Stores changes of timeouts that the chat platform reports, in the transaction that stores the members. */
  async membersChanged(transaction: Queryable, changes: readonly MemberChange[]): Promise<void> {
    const reported: MemberChange[] = [];
    for (const [guildId, ofGuild] of changesByGuild(changes.filter(mayChangeTimeout))) {
      const { mirrorTimeouts } = await findSettings(transaction, guildId);
      if (mirrorTimeouts) reported.push(...ofGuild);
    }
    if (reported.length > 0) await insertTimeoutChanges(transaction, reported);
  }

  /**
   * Returns up to `limit` changes after the ID `after`, oldest first, and the ID of the newest stored change. An empty
   * guild ID stands for all guilds.
   */
  async changes({ after, limit, guildId }: { after: number; limit: number; guildId: string }): Promise<{
    changes: TimeoutChange[];
    newestId: number;
  }> {
    const { database } = this.#options;
    const changes = await listTimeoutChanges(database, after, limit, guildId);
    return { changes, newestId: changes.at(-1)?.id ?? (await newestTimeoutChange(database)) };
  }

  /** Returns a member with the current timeout; null if the account is not in the guild. */
  member(guildId: string, chatId: string): Promise<ChatMember | null> {
    return this.#options.chat.member(guildId, chatId);
  }

  /** Times a member out until a time, or ends the timeout (null). */
  change(change: { guildId: string; chatId: string; until: Date | null; reason: string }): Promise<ChatChange> {
    return this.#options.chat.changeTimeout(change);
  }
}

function mayChangeTimeout({ kind, roles, timeoutUntil }: MemberChange): boolean {
  // Somebody who rejoins is still timed out. For somebody who left there is nothing to change.
  if (kind === 'left') return false;
  // The timeout of somebody whom the mirror did not know may have ended.
  const isKnown = roles.before !== undefined;
  return !isKnown || timeoutUntil.before?.getTime() !== timeoutUntil.after?.getTime();
}
