import type { GrpcClient } from '#kit/grpc/client.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import type { StaffRole } from '../store/staff-roles.ts';
import type { StaffRoles } from './staff-roles.ts';

/** How long a plugin may cache the permissions of a player. */
export const PERMISSION_CACHE_SECONDS = 300;

export interface StaffPermissions {
  /** undefined if the game account is not linked. */
  chatId: string | undefined;
  isStaff: boolean;
  /** The level of the highest staff role; 0 without a staff role. */
  level: number;
  /** The name of the highest staff role. */
  roleName: string | undefined;
  /** The permissions of all staff roles of the member, each once, sorted. */
  permissions: string[];
}

export interface PermissionsOptions {
  staffRoles: StaffRoles;
  lookup: GrpcClient<typeof LookupServiceService>;
  members: GrpcClient<typeof MembersServiceService>;
}

/** Evaluates the staff permissions of players. */
export class Permissions {
  readonly #options: PermissionsOptions;

  constructor(options: PermissionsOptions) {
    this.#options = options;
  }

  /**
   * The current permissions of a player. Passes on errors of lookup and members: a player whose roles cannot be read
   * must not be reported as no staff.
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

/** `held` are the member's staff roles, the highest first. */
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
