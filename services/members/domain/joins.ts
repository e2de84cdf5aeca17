import type { Transaction } from '#kit/postgres/pool.ts';
import { findSettings } from '../store/guild-settings.ts';
import { findInvited } from '../store/role-invites.ts';
import { changesByGuild, type MemberChange } from './member-changes.ts';
import type { RoleTasks } from './role-tasks.ts';

/**
 * Synchronises the roles of members who have joined a guild, if the guild's settings say so, and of those who were invited
 * with roles: the invite cannot set a nickname, and the bindings may have changed since it was created.
 */
export class Joins {
  readonly #roleTasks: Pick<RoleTasks, 'queueAll'>;

  constructor(roleTasks: Pick<RoleTasks, 'queueAll'>) {
    this.#roleTasks = roleTasks;
  }

  /** Called in the transaction that stores changes of members. */
  async changed(transaction: Transaction, changes: readonly MemberChange[]): Promise<void> {
    for (const [guildId, joins] of changesByGuild(changes.filter(({ kind }) => kind === 'joined'))) {
      const chatIds = [...new Set(joins.map(({ chatId }) => chatId))];
      const { syncOnJoin } = await findSettings(transaction, guildId);
      const synced = syncOnJoin ? chatIds : await findInvited(transaction, guildId, chatIds);
      await this.#roleTasks.queueAll(transaction, guildId, synced, 'join');
    }
  }
}
