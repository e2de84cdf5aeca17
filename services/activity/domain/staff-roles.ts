import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import * as store from '../store/staff-roles.ts';
import type { ActivityTelemetry } from '../telemetry.ts';

const MAX_STAFF_ROLES = 100;

export interface StaffRolesOptions {
  database: Database;
  clock: Clock;
  telemetry: Pick<ActivityTelemetry, 'staffRoleChanged'>;
}

/**
 * Manages the staff roles of guilds: chat roles whose members are staff in the game. `actor` is the operator who makes
 * a change.
 */
export class StaffRoles {
  readonly #options: StaffRolesOptions;

  constructor(options: StaffRolesOptions) {
    this.#options = options;
  }

  /** Returns the staff roles of a guild, the highest level first. */
  list(guildId: string): Promise<store.StaffRole[]> {
    return store.listStaffRoles(this.#options.database, guildId);
  }

  /** Adds or replaces the staff role of a chat role. Throws CONFLICT if the guild has 100 other staff roles. */
  async set(guildId: string, role: store.NewStaffRole, actor: string): Promise<store.StaffRole> {
    const { database, clock, telemetry } = this.#options;
    const saved = await database.transaction(async (transaction) => {
      await store.lockStaffRoles(transaction, guildId);
      const roles = await store.listStaffRoles(transaction, guildId);
      const others = roles.filter(({ chatRoleId }) => chatRoleId !== role.chatRoleId);
      if (others.length >= MAX_STAFF_ROLES) {
        throw new ApiError('CONFLICT', {
          message: `The guild has ${MAX_STAFF_ROLES} staff roles, which is the maximum`,
        });
      }
      const permissions = [...new Set(role.permissions)].toSorted();
      return store.saveStaffRole(transaction, guildId, { ...role, permissions }, new Date(clock.now()));
    });
    telemetry.staffRoleChanged(guildId, saved, actor, 'set');
    return saved;
  }

  /** Removes the staff role of a chat role. Throws NOT_FOUND if the chat role has no staff role. */
  async remove(guildId: string, chatRoleId: string, actor: string): Promise<store.StaffRole> {
    const { database, telemetry } = this.#options;
    const removed = await store.deleteStaffRole(database, guildId, chatRoleId);
    if (!removed) throw new ApiError('NOT_FOUND', { message: 'The guild has no such staff role' });
    telemetry.staffRoleChanged(guildId, removed, actor, 'removed');
    return removed;
  }
}
