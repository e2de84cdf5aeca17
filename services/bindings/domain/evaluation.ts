import { performance } from 'node:perf_hooks';
import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { GamePlatform } from '#platforms/game.ts';
import type { Authority } from '#proto/rest/bindings.ts';
import { listBindings, listBindingsOfRoles } from '../store/bindings.ts';
import type { BindingsTelemetry } from '../telemetry.ts';
import { type Binding, MAX_BINDINGS, type Target, targetsOf } from './binding.ts';
import { explain, loadTargetNames, type TargetNames } from './explanations.ts';
import { type DecidingTargets, loadFacts, type Member } from './facts.ts';
import { type BindingResult, combine, evaluateBinding, type Facts, type TargetVerdict, type Verdict } from './rules.ts';

/** The milliseconds after which facts about members that the game platform has not returned yet count as unknown. */
const DEADLINE_MS = 5_500;

export interface RoleVerdict {
  chatRoleId: string;
  verdict: Verdict;
  bindings: (TargetVerdict & { bindingId: number })[];
  /** The strongest authority of the role's bindings; null is that of a binding without one. */
  authority: Authority | null;
  /** True if the role is wanted because of bindings with the authority `grant` only. */
  isLasting: boolean;
}

/** A template of nicknames, and the group whose rank it may name; null if there is none. */
export interface Nickname {
  template: string;
  groupId: number | null;
}

export interface MemberVerdicts {
  chatId: string;
  roles: RoleVerdict[];
  /**
   * The nickname of the first role binding that matches and has a template; `unknown` if a later evaluation may find
   * another one.
   */
  nickname: Nickname | 'unknown' | undefined;
  /** True if the verdict on a role, or the nickname, is unknown, but a later evaluation may know it. */
  isIncomplete: boolean;
  /**
   * True if the verdict on a role is unknown because the game platform rejects calls that name the member's account.
   */
  isRejected: boolean;
}

/** Selects the verdicts that an evaluation returns. */
export interface EvaluationScope {
  /** The IDs of the chat roles to evaluate; if empty, all roles that a role binding of the guild names. */
  chatRoleIds: readonly string[];
  /** True if only the verdicts on roles are needed: then facts that cannot change such a verdict are not queried. */
  rolesOnly: boolean;
  /** True if the role bindings of other roles that have a nickname template are evaluated as well, for the nickname. */
  withNickname?: boolean;
  /** If given, ranks that were read longer ago than this many milliseconds are read again. */
  maxRankAgeMs?: number | undefined;
  /** If set, ownership that was read from the game platform at most this many milliseconds ago is used without a call. */
  maxOwnershipAgeMs?: number | undefined;
  /** The roles for which the ownership of items is not queried; a verdict that depends on ownership is unknown then. */
  withoutOwnership: readonly string[];
  /** True to write the reasons as sentences with the names of groups, ranks and items. */
  withNames?: boolean;
  /** A role binding that is evaluated as if it were stored: a new one has the ID 0, others replace the stored one. */
  planned?: Binding | undefined;
  /** The ID of a stored role binding that is ignored as if it were removed. */
  removedBindingId?: number | undefined;
}

export interface EvaluationOptions {
  database: Queryable;
  game: GamePlatform;
  clock: Clock;
  telemetry: BindingsTelemetry;
  deadlineMs?: number;
}

/** Evaluates which chat roles the members of a guild should have by its role bindings. */
export class Evaluation {
  readonly #options: EvaluationOptions;

  constructor(options: EvaluationOptions) {
    this.#options = options;
  }

  /** Returns the verdicts on the chat roles of each member, in the order of the members. */
  async evaluate(guildId: string, members: readonly Member[], scope: EvaluationScope): Promise<MemberVerdicts[]> {
    const { game, clock, telemetry, deadlineMs = DEADLINE_MS } = this.#options;
    const { chatRoleIds, rolesOnly, withoutOwnership, withNames = false, maxRankAgeMs, maxOwnershipAgeMs } = scope;
    // The age is converted to a time at once, because reading facts takes time too.
    const freshness = maxRankAgeMs === undefined ? undefined : { since: performance.now() - maxRankAgeMs };
    const bindings = await this.#bindingsOf(guildId, scope);
    const byRole = [...Map.groupBy(bindings, ({ chatRoleId }) => chatRoleId)];
    const isEvaluated = (roleId: string) => chatRoleIds.length === 0 || chatRoleIds.includes(roleId);
    const evaluatedRoles = byRole.filter(([roleId]) => isEvaluated(roleId));
    const now = clock.now();
    const decidingTargets = rolesOnly ? decidingTargetsOf(byRole, new Set(withoutOwnership), now) : undefined;
    const targets = bindings.flatMap(targetsOf);
    const [facts, names] = await Promise.all([
      loadFacts(members, targets, { game, deadlineMs, decidingTargets, freshness, maxOwnershipAgeMs }),
      withNames ? loadTargetNames(game, targets) : undefined,
    ]);
    const verdicts = members.map(({ chatId }, index) => {
      const known = facts[index] as Facts;
      const results = new Map(bindings.map((binding) => [binding, evaluateBinding(binding, known, now)]));
      const roles = evaluatedRoles.map(([chatRoleId, governing]) => roleVerdict(chatRoleId, governing, results, names));
      const nickname = nicknameOf(results, known);
      const isUnknown = nickname === 'unknown' || roles.some(({ verdict }) => verdict === 'unknown');
      return {
        chatId,
        roles,
        nickname,
        isIncomplete: known.isIncomplete && isUnknown,
        isRejected: known.isRejected && isUnknown,
      };
    });
    telemetry.evaluated(countVerdicts(verdicts));
    return verdicts;
  }

  /** Returns the role bindings that the scope selects, in their order, and the planned one last. */
  async #bindingsOf(
    guildId: string,
    { chatRoleIds, withNickname = false, planned, removedBindingId }: EvaluationScope,
  ): Promise<readonly Binding[]> {
    const { database } = this.#options;
    const asPlanned = (stored: readonly Binding[]) =>
      withPlanned(stored, planned).filter(({ id }) => id !== removedBindingId);
    if (chatRoleIds.length > 0 && !withNickname) {
      return asPlanned(await listBindingsOfRoles(database, guildId, chatRoleIds, MAX_BINDINGS));
    }
    const all = asPlanned(await listBindings(database, guildId, MAX_BINDINGS));
    if (chatRoleIds.length === 0) return all;
    return all.filter(({ chatRoleId, nicknameTemplate }) => chatRoleIds.includes(chatRoleId) || nicknameTemplate);
  }
}

/**
 * Returns a function that selects the targets which can still change the verdict on a role of a member. There are none
 * for a role that is wanted already, and none for a role with a rank binding while the ranks are unknown, because the
 * member has to be evaluated again anyway.
 */
function decidingTargetsOf(
  byRole: readonly (readonly [string, readonly Binding[]])[],
  withoutOwnership: ReadonlySet<string>,
  now: number,
): DecidingTargets {
  const roles = byRole.map(([chatRoleId, governing]) => {
    const mayQuery = withoutOwnership.has(chatRoleId) ? ({ kind }: Target) => kind !== 'item' : () => true;
    const bindings = governing.map((binding) => ({ binding, targets: targetsOf(binding) }));
    const hasRank = bindings.some(({ targets }) => targets.some(({ kind }) => kind === 'rank'));
    return { bindings, mayQuery, hasRank };
  });
  return (facts) =>
    roles.flatMap(({ bindings, mayQuery, hasRank }) => {
      if (hasRank && facts.ranks === 'unknown') return [];
      const results = bindings.map(({ binding, targets }) => ({
        targets,
        hasTemplate: binding.nicknameTemplate !== null,
        verdict: evaluateBinding(binding, facts, now).verdict,
      }));
      const isWanted = results.some(({ verdict }) => verdict === 'wanted');
      return results
        .filter(({ verdict, hasTemplate }) => verdict === 'unknown' && (!isWanted || hasTemplate))
        .flatMap(({ targets, hasTemplate }) => (hasTemplate ? targets : targets.filter(mayQuery)));
    });
}

/** Returns the role bindings as if the planned one were stored. */
function withPlanned(stored: readonly Binding[], planned: Binding | undefined): readonly Binding[] {
  if (!planned) return stored;
  return [...stored.filter(({ id }) => id !== planned.id), planned];
}

function roleVerdict(
  chatRoleId: string,
  governing: readonly Binding[],
  results: ReadonlyMap<Binding, BindingResult>,
  names: TargetNames | undefined,
): RoleVerdict {
  const bindings = governing.map((binding) => {
    const { deciding, ...verdict } = results.get(binding) as BindingResult;
    const reasons = names && deciding.map((each) => explain(each.target, each.verdict, names)).join('. ');
    return { bindingId: binding.id, ...verdict, ...(reasons !== undefined && { reason: reasons }) };
  });
  const matching = governing.filter((_, index) => bindings[index]?.verdict === 'wanted');
  return {
    chatRoleId,
    verdict: combine(bindings.map(({ verdict }) => verdict)),
    bindings,
    authority: strongest(governing.map(({ authority }) => authority)),
    isLasting: matching.length > 0 && matching.every(({ authority }) => authority === 'grant'),
  };
}

/** The authorities from the strongest to the weakest. */
const BY_STRENGTH: readonly (Authority | null)[] = ['own', null, 'managed', 'grant'];

const strongest = (authorities: readonly (Authority | null)[]): Authority | null =>
  BY_STRENGTH.find((authority) => authorities.includes(authority)) ?? null;

/**
 * Returns the nickname of the first role binding that matches and has a template. It is unknown if an earlier one may
 * match as soon as the game platform returns more; what the platform never discloses counts as no match.
 */
function nicknameOf(
  results: ReadonlyMap<Binding, BindingResult>,
  { isIncomplete }: Facts,
): Nickname | 'unknown' | undefined {
  const mayMatch = ({ verdict, code }: BindingResult) =>
    verdict === 'wanted' || (isIncomplete && verdict === 'unknown' && code === 'PLATFORM_UNAVAILABLE');
  const [binding, result] =
    [...results].find(([{ nicknameTemplate }, result]) => nicknameTemplate !== null && mayMatch(result)) ?? [];
  if (!binding || binding.nicknameTemplate === null) return undefined;
  if (result?.verdict === 'unknown') return 'unknown';
  const rank = targetsOf(binding).find((target) => target.kind === 'rank');
  return { template: binding.nicknameTemplate, groupId: rank?.groupId ?? null };
}

function countVerdicts(members: readonly { roles: RoleVerdict[] }[]): Record<Verdict, number> {
  const counts = { wanted: 0, not_wanted: 0, unknown: 0 };
  for (const { roles } of members) for (const { verdict } of roles) counts[verdict]++;
  return counts;
}
