import type { GrpcClient } from '#kit/grpc/client.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import type { StaffRole } from '../store/staff-roles.ts';
import type { StaffRoles } from './staff-roles.ts';

/** How long, in seconds, the plugin of a game server may cache the staff permissions of a player. */
export const PERMISSION_CACHE_SECONDS = 300;

export interface StaffPermissions {
  /** The chat account that the player's game account is linked to; undefined if there is no link. */
  chatId: string | undefined;
  isStaff: boolean;
  /** The level of the player's highest staff role; 0 without a staff role. */
  level: number;
  /** The name of the player's highest staff role; undefined without a staff role. */
  roleName: string | undefined;
  /** The permissions of all staff roles of the player, without duplicates, sorted. */
  permissions: string[];
}

export interface PermissionsOptions {
  staffRoles: StaffRoles;
  lookup: GrpcClient<typeof LookupServiceService>;
  members: GrpcClient<typeof MembersServiceService>;
}

/** Evaluates the staff permissions of players from their linked chat accounts and the staff roles of the guild. */
export class Permissions {
  readonly #options: PermissionsOptions;

  constructor(options: PermissionsOptions) {
    this.#options = options;
  }

  /**
   * Returns the current staff permissions of a player. Throws the errors of the services lookup and members, because a
   * player whose roles cannot be read must not be reported as someone without a staff role.
   */
  async read(guildId: string, gameId: number): Promise<StaffPermissions> {
    const { staffRoles, lookup, members } = this.#options;
    const [roles, { links }] = await Promise.all([
      staffRoles.list(guildId),
      lookup.getLinks({ guildId, chatIds: [], gameIds: [gameId] }),
    ]);
    const chatId = links[0]?.chatId;
    if (chatId === undefined || roles.length === 0) return permissionsOf(chatId, []);
    const { member } = await members.getMemberRoles({ guildId, chatId });
    const chatRoles = new Set(member?.roles.map(({ id }) => id));
    const held = roles.filter(({ chatRoleId }) => chatRoles.has(chatRoleId));
    return permissionsOf(chatId, held);
  }
}

/** Returns the staff permissions of a player. `held` are the player's staff roles, the highest first. */
function permissionsOf(chatId: string | undefined, held: readonly StaffRole[]): StaffPermissions {
  const [highest] = held;
  return {
    chatId,
    isStaff: highest !== undefined,
    level: highest?.level ?? 0,
    roleName: highest?.name,
    permissions: [...new Set(held.flatMap(({ permissions }) => permissions))].toSorted(),
  };
}
