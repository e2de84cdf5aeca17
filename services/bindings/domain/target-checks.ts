import pLimit from 'p-limit';
import { counted, failed, type GuildCheck, listed, passed } from '#kit/guild-state/check.ts';
import { within } from '#kit/resilience/deadline.ts';
import type { GameItem, GamePlatform } from '#platforms/game.ts';
import { CHECK_WAIT_MS, outageCheck } from '#platforms/outage-check.ts';
import { type Binding, targetsOf } from './binding.ts';

/** The maximum number of groups and of items that are checked, so that one guild does not use up the rate limits. */
export const MAX_TARGETS = 25;
/** The maximum number of concurrent calls to the game platform. */
const MAX_CALLS = 5;
/** An account that always exists: that of the game platform itself. */
const PLATFORM_ACCOUNT = 1;

interface CheckedTarget {
  kind: 'group' | 'item';
  /** The target as part of a sentence, such as `the group 501`. */
  name: string;
  exists: () => Promise<boolean>;
}

/**
 * Checks that the groups and items of bindings exist on the game platform, and that the platform accepts the key of this
 * installation.
 */
export async function targetChecks(game: GamePlatform, bindings: readonly Binding[]): Promise<GuildCheck[]> {
  const targets = checkedTargetsOf(game, bindings);
  const kinds = (['group', 'item'] as const).map((kind) => targets.filter((target) => target.kind === kind));
  const checkedTargets = kinds.flatMap((ofKind) => ofKind.slice(0, MAX_TARGETS));
  const missing = new Set<CheckedTarget>();
  const limit = pLimit(MAX_CALLS);
  try {
    const lookUps = checkedTargets.map((target) =>
      limit(async () => {
        if (!(await target.exists())) missing.add(target);
      }),
    );
    await within(CHECK_WAIT_MS, Promise.all([...lookUps, limit(() => tryKey(game, bindings))]));
  } catch (error) {
    // Calls that have not begun would fail too, or would be too late.
    limit.clearQueue();
    return [outageCheck('game_platform', error)];
  }
  return [
    existenceCheck('bound_groups_exist', 'group', kinds[0] ?? [], missing),
    existenceCheck('bound_items_exist', 'game pass, asset or badge', kinds[1] ?? [], missing),
  ];
}

/** Makes a call that needs the key of this installation, if a binding depends on such calls. */
async function tryKey(game: GamePlatform, bindings: readonly Binding[]): Promise<void> {
  const rank = bindings.flatMap(targetsOf).find((target) => target.kind === 'rank');
  if (rank) await game.ranksIn(PLATFORM_ACCOUNT, rank.groupId);
}

/** Returns the groups and items of bindings, each once, with the IDs of the bindings that name it. */
function checkedTargetsOf(game: GamePlatform, bindings: readonly Binding[]): CheckedTarget[] {
  const found = new Map<string, Omit<CheckedTarget, 'name'> & { bindingIds: number[] }>();
  const add = (key: string, id: number, target: Omit<CheckedTarget, 'name'>) => {
    const known = found.get(key);
    if (known?.bindingIds.at(-1) === id) return;
    if (known) known.bindingIds.push(id);
    else found.set(key, { ...target, bindingIds: [id] });
  };
  for (const binding of bindings) {
    for (const target of targetsOf(binding)) {
      if (target.kind === 'rank') {
        const exists = async () => (await game.group(target.groupId)) !== null;
        add(`the group ${target.groupId}`, binding.id, { kind: 'group', exists });
      } else if (target.kind === 'item') {
        const exists = async () => (await game.itemName(target.item)) !== null;
        add(nameOf(target.item), binding.id, { kind: 'item', exists });
      }
    }
  }
  return [...found].map(([key, { kind, exists, bindingIds }]) => {
    const ids = listed(bindingIds.map(String));
    return { kind, exists, name: `${key} (binding ${ids})` };
  });
}

const nameOf = ({ kind, id }: GameItem) => `the ${kind === 'gamepass' ? 'game pass' : kind} ${id}`;

function existenceCheck(
  check: 'bound_groups_exist' | 'bound_items_exist',
  noun: string,
  targets: readonly CheckedTarget[],
  missing: ReadonlySet<CheckedTarget>,
): GuildCheck {
  const lost = targets.filter((target) => missing.has(target)).map(({ name }) => name);
  if (lost.length > 0) {
    return failed(
      check,
      `The game platform does not have ${listed(lost)}.`,
      'Remove these bindings, or create them again with an ID that exists.',
    );
  }
  const left = targets.length - MAX_TARGETS;
  const bound = left > 0 ? ` (the first ${MAX_TARGETS} were checked, ${counted(left, 'other')} not)` : '';
  return passed(check, `Every ${noun} of a binding exists${bound}.`);
}
