import type { Transaction } from '#kit/postgres/pool.ts';
import { findSettings } from '../store/guild-settings.ts';
import { hasInvite } from '../store/role-invites.ts';
import type { MemberChange } from './member-changes.ts';
import type { RoleTasks } from './role-tasks.ts';

/**
 * Synchronises the roles of members who have joined a guild, if the guild's settings say so, and of those who were invited
 * with roles: the invite cannot set a nickname, and the bindings may have changed since it was created.
 */
export class Joins {
  readonly #roleTasks: RoleTasks;

  constructor(roleTasks: RoleTasks) {
    this.#roleTasks = roleTasks;
  }

  /** Called in the transaction that stores a change of a member. */
  async changed(transaction: Transaction, { kind, guildId, chatId }: MemberChange): Promise<void> {
    if (kind !== 'joined') return;
    const { syncOnJoin } = await findSettings(transaction, guildId);
    if (syncOnJoin || (await hasInvite(transaction, { guildId, chatId })))
      await this.#roleTasks.queueAll(transaction, guildId, [chatId], 'join');
  }
}
