import type { GrpcClient } from '#kit/grpc/client.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { MembersServiceService } from '#proto/gen/guild/members/v1/members.ts';
import type { StaffRole } from '../store/staff-roles.ts';
import type { StaffRoles } from './staff-roles.ts';

/** How long a plugin may go by the permissions that it was told. */
export const PERMISSION_CACHE_SECONDS = 300;

export interface StaffPermissions {
  /** undefined when the game account is not linked. */
  chatId: string | undefined;
  isStaff: boolean;
  /** That of the staff role with the highest level; 0 for who is not staff. */
  level: number;
  roleName: string | undefined;
  /** Those of all staff roles of the member, each once, in order. */
  permissions: string[];
}

/** What players may do as staff. */
export class Permissions {
  readonly #roles: StaffRoles;
  readonly #lookup: GrpcClient<typeof LookupServiceService>;
  readonly #members: GrpcClient<typeof MembersServiceService>;

  constructor(
    roles: StaffRoles,
    lookup: GrpcClient<typeof LookupServiceService>,
    members: GrpcClient<typeof MembersServiceService>,
  ) {
    this.#roles = roles;
    this.#lookup = lookup;
    this.#members = members;
  }

  /** As things are now. Throws what lookup and members throw: who can not be looked up is not said to be no staff. */
  async of(guildId: string, gameId: number): Promise<StaffPermissions> {
    const [roles, { links }] = await Promise.all([
      this.#roles.list(guildId),
      this.#lookup.getLinks({ guildId, chatIds: [], gameIds: [gameId] }),
    ]);
    const chatId = links[0]?.chatId;
    if (chatId === undefined || roles.length === 0) return told(chatId, []);
    const { member } = await this.#members.getMemberRoles({ guildId, chatId });
    const chatRoles = new Set(member?.roles.map(({ id }) => id));
    return told(
      chatId,
      roles.filter(({ chatRoleId }) => chatRoles.has(chatRoleId)),
    );
  }
}

/** `held`: the member's staff roles, the highest first. */
function told(chatId: string | undefined, held: readonly StaffRole[]): StaffPermissions {
  const [highest] = held;
  return {
    chatId,
    isStaff: highest !== undefined,
    level: highest?.level ?? 0,
    roleName: highest?.name,
    permissions: [...new Set(held.flatMap(({ permissions }) => permissions))].toSorted(),
  };
}
