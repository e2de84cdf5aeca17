import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import {
  Authority,
  type Binding,
  type BindingsServiceService,
  type MemberVerdicts,
  type RoleVerdict,
  Verdict,
} from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { RoleAuthority, RoleRule, RoleVerdicts } from './role-plan.ts';

type Bindings = GrpcClient<typeof BindingsServiceService>;

/** The chat and game account of a member whom the bindings service evaluates; the game ID is 0 if none is linked. */
export interface EvaluatedMember {
  chatId: string;
  gameId: number;
}

/** What the guild's role bindings say about a member: the verdicts on the roles, and the rules of the roles. */
export interface Evaluated {
  verdicts: RoleVerdicts;
  rules: ReadonlyMap<string, RoleRule>;
}

export interface VerdictScope {
  /** The IDs of the chat roles to evaluate; if empty or undefined, all roles that a role binding of the guild names. */
  chatRoleIds?: string[];
  /**
   * If true, the caller needs only the verdicts per role, so the bindings service queries only the facts that decide a
   * role.
   */
  rolesOnly?: boolean;
  /** With `rolesOnly`, the IDs of roles for which the bindings service does not query what the members own. */
  withoutOwnership?: string[];
  /** If true, the reasons of single role bindings are sentences with the names of groups, ranks and items. */
  withNames?: boolean;
  /** A role binding that is evaluated as if it were stored. */
  planned?: Binding | undefined;
  /** If true, the nickname is that of the whole guild, although only some roles are evaluated. */
  withNickname?: boolean;
  /** If given, ranks must not have been read longer ago than this many milliseconds. */
  maxRankAgeMs?: number | undefined;
  /** If set, ownership that was read from the game platform at most this many milliseconds ago is used without a call. */
  maxOwnershipAgeMs?: number | undefined;
  /** The ID of a stored role binding that is ignored as if it were removed. */
  removedBindingId?: number | undefined;
}

/**
 * The scope of evaluations that only show something: the ownership of items may be a minute old, because each query of it counts
 * for a rate limit that all guilds share.
 */
export const ONLY_SHOWN: VerdictScope = { maxOwnershipAgeMs: 60_000 };

/**
 * Requests from the bindings service which roles up to 100 members should have; returns one result per member, in the
 * same order.
 */
export async function evaluate(
  bindings: Bindings,
  guildId: string,
  members: readonly EvaluatedMember[],
  scope: VerdictScope = {},
): Promise<MemberVerdicts[]> {
  const { chatRoleIds = [], rolesOnly = false, withoutOwnership = [], withNames = false } = scope;
  const { planned, withNickname = false, maxRankAgeMs, maxOwnershipAgeMs, removedBindingId } = scope;
  const accounts = members.map(({ chatId, gameId }) => ({ chatId, gameId }));
  const { members: verdicts } = await bindings.evaluate({
    guildId,
    members: accounts,
    chatRoleIds,
    rolesOnly,
    withoutOwnershipRoleIds: withoutOwnership,
    withNames,
    planned,
    withNickname,
    maxRankAgeMs,
    maxOwnershipAgeMs,
    removedBindingId,
  });
  // Verdicts for all members must be present, because a missing verdict would look like a role that the member should
  // not have.
  const isComplete =
    verdicts.length === accounts.length && verdicts.every(({ chatId }, index) => chatId === accounts[index]?.chatId);
  if (!isComplete) throw new ApiError('INTERNAL', { cause: new Error('bindings returned no verdicts for a member') });
  return verdicts;
}

/** A template of nicknames, and the group whose rank it may name. */
export interface BindingNickname {
  template: string;
  gameGroupId: number | undefined;
}

/** Returns the nickname that the bindings give a member; `unknown` if it must stay as it is. */
export function nicknameOf({
  nicknameTemplate: template,
  nicknameGroupId: gameGroupId,
  nicknameUnknown,
}: MemberVerdicts): BindingNickname | 'unknown' | undefined {
  if (nicknameUnknown) return 'unknown';
  return template === undefined ? undefined : { template, gameGroupId };
}

/** Converts a verdict of the gRPC message to a string; every unexpected value becomes `unknown`. */
export function verdictOf({ verdict }: { verdict: Verdict }): 'wanted' | 'not_wanted' | 'unknown' {
  if (verdict === Verdict.VERDICT_WANTED) return 'wanted';
  return verdict === Verdict.VERDICT_NOT_WANTED ? 'not_wanted' : 'unknown';
}

export const evaluatedOf = (roles: readonly RoleVerdict[]): Evaluated => ({
  verdicts: new Map(roles.map((role) => [role.chatRoleId, verdictOf(role)])),
  rules: new Map(
    roles.map((role) => [role.chatRoleId, { authority: authorityOf(role), isLasting: role.lasting }] as const),
  ),
});

function authorityOf({ authority }: RoleVerdict): RoleAuthority {
  switch (authority) {
    case Authority.AUTHORITY_GRANT:
      return 'grant';
    case Authority.AUTHORITY_MANAGED:
      return 'managed';
    case Authority.AUTHORITY_OWN:
      return 'own';
    default:
      return null;
  }
}

/** True if a binding of the guild may concern members without a game account. */
export const concernsUnverified = (bindings: readonly Binding[]): boolean =>
  bindings.some(
    ({ target, authority }) =>
      authority !== Authority.AUTHORITY_UNSPECIFIED || (target?.$case === 'linked' && !target.value),
  );
