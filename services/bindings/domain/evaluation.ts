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
  /** The nickname of the first role binding that matches and has a template. */
  nickname: Nickname | undefined;
  /** True if the verdict on a role is unknown, but a later evaluation may know it. */
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
  /** The roles for which the ownership of items is not queried; a verdict that depends on ownership is unknown then. */
  withoutOwnership: readonly string[];
  /** True to write the reasons as sentences with the names of groups, ranks and items. */
  withNames?: boolean;
  /** A role binding that is evaluated as if it were stored: a new one has the ID 0, others replace the stored one. */
  planned?: Binding | undefined;
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
  async evaluate(
    guildId: string,
    members: readonly Member[],
    { chatRoleIds, rolesOnly, withoutOwnership, withNames = false, planned }: EvaluationScope,
  ): Promise<MemberVerdicts[]> {
    const { database, game, clock, telemetry, deadlineMs = DEADLINE_MS } = this.#options;
    const stored =
      chatRoleIds.length > 0
        ? await listBindingsOfRoles(database, guildId, chatRoleIds, MAX_BINDINGS)
        : await listBindings(database, guildId, MAX_BINDINGS);
    const bindings = withPlanned(stored, planned);
    const byRole = [...Map.groupBy(bindings, ({ chatRoleId }) => chatRoleId)];
    const now = clock.now();
    const decidingTargets = rolesOnly ? decidingTargetsOf(byRole, new Set(withoutOwnership), now) : undefined;
    const targets = bindings.flatMap(targetsOf);
    const [facts, names] = await Promise.all([
      loadFacts(game, members, targets, deadlineMs, decidingTargets),
      withNames ? loadTargetNames(game, targets) : undefined,
    ]);
    const verdicts = members.map(({ chatId }, index) => {
      const known = facts[index] as Facts;
      const results = new Map(bindings.map((binding) => [binding, evaluateBinding(binding, known, now)]));
      const roles = byRole.map(([chatRoleId, governing]) => roleVerdict(chatRoleId, governing, results, names));
      const isUnknown = roles.some(({ verdict }) => verdict === 'unknown');
      return {
        chatId,
        roles,
        nickname: nicknameOf(results),
        isIncomplete: known.isIncomplete && isUnknown,
        isRejected: known.isRejected && isUnknown,
      };
    });
    telemetry.evaluated(countVerdicts(verdicts));
    return verdicts;
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
        .flatMap(({ targets }) => targets.filter(mayQuery));
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

function nicknameOf(results: ReadonlyMap<Binding, BindingResult>): Nickname | undefined {
  const [binding] =
    [...results].find(([{ nicknameTemplate }, { verdict }]) => nicknameTemplate !== null && verdict === 'wanted') ?? [];
  if (!binding || binding.nicknameTemplate === null) return undefined;
  const rank = targetsOf(binding).find((target) => target.kind === 'rank');
  return { template: binding.nicknameTemplate, groupId: rank?.groupId ?? null };
}

function countVerdicts(members: readonly { roles: RoleVerdict[] }[]): Record<Verdict, number> {
  const counts = { wanted: 0, not_wanted: 0, unknown: 0 };
  for (const { roles } of members) for (const { verdict } of roles) counts[verdict]++;
  return counts;
}
