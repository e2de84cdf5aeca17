import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { GamePlatform } from '#platforms/game.ts';
import { listBindings, listBindingsOfRoles } from '../store/bindings.ts';
import type { BindingsTelemetry } from '../telemetry.ts';
import { type Binding, MAX_BINDINGS, targetOf } from './binding.ts';
import { explain, loadTargetNames, type TargetNames } from './explanations.ts';
import { type DecidingTargets, loadFacts, type Member } from './facts.ts';
import { combine, evaluateTarget, type Facts, type TargetVerdict, type Verdict } from './rules.ts';

/** The milliseconds after which facts about members that the game platform has not returned yet count as unknown. */
const DEADLINE_MS = 5_500;

export interface RoleVerdict {
  chatRoleId: string;
  verdict: Verdict;
  bindings: (TargetVerdict & { bindingId: number })[];
}

export interface MemberVerdicts {
  chatId: string;
  roles: RoleVerdict[];
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
    const targets = bindings.map(targetOf);
    const [facts, names] = await Promise.all([
      loadFacts(game, members, targets, deadlineMs, decidingTargets),
      withNames ? loadTargetNames(game, targets) : undefined,
    ]);
    const verdicts = members.map(({ chatId }, index) => {
      const known = facts[index] as Facts;
      const roles = byRole.map(([chatRoleId, governing]) =>
        roleVerdict(chatRoleId, governing, { facts: known, now, names }),
      );
      const isUnknown = roles.some(({ verdict }) => verdict === 'unknown');
      return {
        chatId,
        roles,
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
    const targets = governing.map(targetOf);
    const deciding = withoutOwnership.has(chatRoleId) ? targets.filter(({ kind }) => kind !== 'item') : targets;
    return { targets, deciding, hasRank: targets.some(({ kind }) => kind === 'rank') };
  });
  return (facts) =>
    roles.flatMap(({ targets, deciding, hasRank }) => {
      if (hasRank && facts.ranks === 'unknown') return [];
      const isWanted = targets.some((target) => evaluateTarget(target, facts, now).verdict === 'wanted');
      return isWanted ? [] : deciding;
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
  { facts, now, names }: { facts: Facts; now: number; names: TargetNames | undefined },
): RoleVerdict {
  const bindings = governing.map((binding) => {
    const target = targetOf(binding);
    const verdict = evaluateTarget(target, facts, now);
    return { bindingId: binding.id, ...verdict, ...(names && { reason: explain(target, verdict, names) }) };
  });
  return { chatRoleId, verdict: combine(bindings.map(({ verdict }) => verdict)), bindings };
}

function countVerdicts(members: readonly { roles: RoleVerdict[] }[]): Record<Verdict, number> {
  const counts = { wanted: 0, not_wanted: 0, unknown: 0 };
  for (const { roles } of members) for (const { verdict } of roles) counts[verdict]++;
  return counts;
}
