import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import {
  type BindingsServiceService,
  type MemberVerdicts,
  type RoleVerdict,
  Verdict,
} from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { RoleVerdicts } from './role-plan.ts';

type Bindings = GrpcClient<typeof BindingsServiceService>;

/** A member as bindings are told of it. */
export interface WeighedMember {
  chatId: string;
  gameId: number;
}

export interface VerdictScope {
  /** Empty or left out: every role that a binding governs. */
  chatRoleIds?: string[];
  /** The verdicts of roles alone: bindings query what decides one, and nothing else. */
  rolesOnly?: boolean;
  /** With `rolesOnly`: roles for which ownership is not queried. */
  withoutOwnership?: string[];
}

/** What the bindings say of every role that they govern, or of these; for each member (at most 100), in their order. */
export async function evaluate(
  bindings: Bindings,
  guildId: string,
  members: readonly WeighedMember[],
  { chatRoleIds = [], rolesOnly = false, withoutOwnership = [] }: VerdictScope = {},
): Promise<MemberVerdicts[]> {
  const asked = members.map(({ chatId, gameId }) => ({ chatId, gameId }));
  const { members: told } = await bindings.evaluate({
    guildId,
    members: asked,
    chatRoleIds,
    rolesOnly,
    withoutOwnershipRoleIds: withoutOwnership,
  });
  // Without verdicts every role that was given would seem unwanted.
  const isWhole = told.length === asked.length && told.every(({ chatId }, index) => chatId === asked[index]?.chatId);
  if (!isWhole) throw new ApiError('INTERNAL', { cause: new Error('no verdicts on a member') });
  return told;
}

/** What can't be told is unknown. */
export function verdictOf({ verdict }: { verdict: Verdict }): 'wanted' | 'not wanted' | 'unknown' {
  if (verdict === Verdict.VERDICT_WANTED) return 'wanted';
  return verdict === Verdict.VERDICT_NOT_WANTED ? 'not wanted' : 'unknown';
}

export function verdictsByRole(roles: readonly RoleVerdict[]): RoleVerdicts {
  return new Map(roles.map((role) => [role.chatRoleId, verdictOf(role)]));
}
