import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { GamePlatform } from '#platforms/game.ts';
import { listBindings, listBindingsOfRoles } from '../store/bindings.ts';
import type { BindingsEvents } from '../telemetry.ts';
import { type Binding, MOST_BINDINGS, targetOf } from './binding.ts';
import { learnFacts, type Member, type Undecided } from './facts.ts';
import { combine, type Facts, type Verdict, type Weighed, weigh } from './rules.ts';

/** What the game platform has not told by then is unknown. */
const DEADLINE_MS = 5_500;

export interface RoleVerdict {
  chatRoleId: string;
  verdict: Verdict;
  bindings: (Weighed & { bindingId: number })[];
}

export interface MemberVerdicts {
  chatId: string;
  roles: RoleVerdict[];
  /** Whether a verdict is unknown that may be known if asked for again. */
  isIncomplete: boolean;
  /** Whether a verdict is unknown because the game platform rejects calls that name the account. */
  isRejected: boolean;
}

/** Which verdicts are wanted. */
export interface EvaluationScope {
  /** Empty for every role that a binding governs. */
  chatRoleIds: readonly string[];
  /** The verdicts of roles alone: what does not decide one of them is not queried. */
  rolesOnly: boolean;
  /** Roles for which ownership is not queried; a verdict that depends on it is unknown. */
  withoutOwnership: readonly string[];
}

export interface EvaluationOptions {
  database: Queryable;
  game: GamePlatform;
  clock: Clock;
  events: BindingsEvents;
  deadlineMs?: number;
}

/** Says which roles members are to have. */
export class Evaluation {
  readonly #options: EvaluationOptions;

  constructor(options: EvaluationOptions) {
    this.#options = options;
  }

  /** For each member, in their order, the verdict on each of the roles, or on every role that a binding governs. */
  async evaluate(
    guildId: string,
    members: readonly Member[],
    { chatRoleIds, rolesOnly, withoutOwnership }: EvaluationScope,
  ): Promise<MemberVerdicts[]> {
    const { database, game, clock, events, deadlineMs = DEADLINE_MS } = this.#options;
    const bindings =
      chatRoleIds.length > 0
        ? await listBindingsOfRoles(database, guildId, chatRoleIds, MOST_BINDINGS)
        : await listBindings(database, guildId, MOST_BINDINGS);
    const byRole = [...Map.groupBy(bindings, ({ chatRoleId }) => chatRoleId)];
    const now = clock.now();
    const undecided = rolesOnly ? undecidedBy(byRole, new Set(withoutOwnership), now) : undefined;
    const facts = await learnFacts(game, members, bindings.map(targetOf), deadlineMs, undecided);
    const verdicts = members.map(({ chatId }, index) => {
      const known = facts[index] as Facts;
      const roles = byRole.map(([chatRoleId, governing]) => roleVerdict(chatRoleId, governing, known, now));
      const isUnknown = roles.some(({ verdict }) => verdict === 'unknown');
      return {
        chatId,
        roles,
        isIncomplete: known.isIncomplete && isUnknown,
        isRejected: known.isRejected && isUnknown,
      };
    });
    events.weighed(countVerdicts(verdicts));
    return verdicts;
  }
}

/**
 * The targets of a member that still decide a role: none of a role that is wanted already, and none of a role whose
 * rank binding cannot be weighed yet, since the member is weighed again then.
 */
function undecidedBy(
  byRole: readonly (readonly [string, readonly Binding[]])[],
  withoutOwnership: ReadonlySet<string>,
  now: number,
): Undecided {
  const roles = byRole.map(([chatRoleId, governing]) => {
    const targets = governing.map(targetOf);
    const deciding = withoutOwnership.has(chatRoleId) ? targets.filter(({ kind }) => kind !== 'item') : targets;
    return { targets, deciding, hasRank: targets.some(({ kind }) => kind === 'rank') };
  });
  return (facts) =>
    roles.flatMap(({ targets, deciding, hasRank }) => {
      if (hasRank && facts.ranks === 'unknown') return [];
      const isWanted = targets.some((target) => weigh(target, facts, now).verdict === 'wanted');
      return isWanted ? [] : deciding;
    });
}

function roleVerdict(chatRoleId: string, governing: readonly Binding[], facts: Facts, now: number): RoleVerdict {
  const bindings = governing.map((binding) => ({ bindingId: binding.id, ...weigh(targetOf(binding), facts, now) }));
  return { chatRoleId, verdict: combine(bindings.map(({ verdict }) => verdict)), bindings };
}

function countVerdicts(members: readonly { roles: RoleVerdict[] }[]): Record<Verdict, number> {
  const counts = { wanted: 0, not_wanted: 0, unknown: 0 };
  for (const { roles } of members) for (const { verdict } of roles) counts[verdict]++;
  return counts;
}
