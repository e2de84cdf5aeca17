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

/** The accounts of a member, as the bindings service needs them. */
export interface EvaluatedMember {
  chatId: string;
  gameId: number;
}

export interface VerdictScope {
  /** If empty or left out, every role that a binding governs. */
  chatRoleIds?: string[];
  /** Only the verdicts of roles are needed, so the bindings service queries only facts that decide one. */
  rolesOnly?: boolean;
  /** With `rolesOnly`: roles for which ownership is not queried. */
  withoutOwnership?: string[];
}

/** The verdicts of the bindings for each of the members (at most 100), in the same order. */
export async function evaluate(
  bindings: Bindings,
  guildId: string,
  members: readonly EvaluatedMember[],
  { chatRoleIds = [], rolesOnly = false, withoutOwnership = [] }: VerdictScope = {},
): Promise<MemberVerdicts[]> {
  const accounts = members.map(({ chatId, gameId }) => ({ chatId, gameId }));
  const { members: verdicts } = await bindings.evaluate({
    guildId,
    members: accounts,
    chatRoleIds,
    rolesOnly,
    withoutOwnershipRoleIds: withoutOwnership,
  });
  // Missing verdicts must not look like roles that no binding wants.
  const isComplete =
    verdicts.length === accounts.length && verdicts.every(({ chatId }, index) => chatId === accounts[index]?.chatId);
  if (!isComplete) throw new ApiError('INTERNAL', { cause: new Error('bindings returned no verdicts for a member') });
  return verdicts;
}

/** Converts a verdict; every unexpected value is `unknown`. */
export function verdictOf({ verdict }: { verdict: Verdict }): 'wanted' | 'not_wanted' | 'unknown' {
  if (verdict === Verdict.VERDICT_WANTED) return 'wanted';
  return verdict === Verdict.VERDICT_NOT_WANTED ? 'not_wanted' : 'unknown';
}

export function verdictsByRole(roles: readonly RoleVerdict[]): RoleVerdicts {
  return new Map(roles.map((role) => [role.chatRoleId, verdictOf(role)]));
}
