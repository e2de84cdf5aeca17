import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import * as store from '../store/staff-roles.ts';
import type { ActivityEvents } from '../telemetry.ts';

const MOST_ROLES = 100;

/** Which chat roles make somebody staff. */
export class StaffRoles {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #events: ActivityEvents;

  constructor(database: Database, clock: Clock, events: ActivityEvents) {
    this.#database = database;
    this.#clock = clock;
    this.#events = events;
  }

  /** The highest level first. */
  list(guildId: string): Promise<store.StaffRole[]> {
    return store.listStaffRoles(this.#database, guildId);
  }

  /** Makes a chat role a staff role, or writes it anew; CONFLICT when the guild has 100 others. */
  async set(guildId: string, role: store.NewStaffRole, actor: string): Promise<store.StaffRole> {
    const saved = await this.#database.transaction(async (transaction) => {
      await store.lockStaffRoles(transaction, guildId);
      const roles = await store.listStaffRoles(transaction, guildId);
      const others = roles.filter(({ chatRoleId }) => chatRoleId !== role.chatRoleId);
      if (others.length >= MOST_ROLES) {
        throw new ApiError('CONFLICT', { message: `The guild has ${MOST_ROLES} staff roles, the most that it can` });
      }
      const permissions = [...new Set(role.permissions)].toSorted();
      return store.saveStaffRole(transaction, guildId, { ...role, permissions }, new Date(this.#clock.now()));
    });
    this.#events.staffRoleChanged(guildId, saved, actor, 'set');
    return saved;
  }

  /** NOT_FOUND when it is no staff role. */
  async remove(guildId: string, chatRoleId: string, actor: string): Promise<store.StaffRole> {
    const removed = await store.deleteStaffRole(this.#database, guildId, chatRoleId);
    if (!removed) throw new ApiError('NOT_FOUND', { message: 'The guild has no such staff role' });
    this.#events.staffRoleChanged(guildId, removed, actor, 'removed');
    return removed;
  }
}
