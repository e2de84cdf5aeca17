import { within } from '#kit/resilience/deadline.ts';
import { inParallel } from '#kit/resilience/parallel.ts';
import type { GameGroup, GameItem, GamePlatform } from '#platforms/game.ts';
import type { Target } from './binding.ts';
import type { TargetVerdict } from './rules.ts';

/** The milliseconds that an explanation waits for names from the game platform. Without a name it shows the ID. */
const NAMES_MS = 1_500;
const MAX_CONCURRENT = 5;

/** Names of the targets of role bindings. */
export interface TargetNames {
  groups: ReadonlyMap<number, GameGroup>;
  /** The names of items by kind and ID. */
  items: ReadonlyMap<string, string>;
}

const keyOf = ({ kind, id }: GameItem) => `${kind} ${id}`;

/** Loads the names of the targets of role bindings, each once. Names that do not arrive in time are missing. */
export async function loadTargetNames(game: GamePlatform, targets: readonly Target[]): Promise<TargetNames> {
  const groups = new Map<number, GameGroup>();
  const items = new Map<string, string>();
  const groupIds = new Set(targets.flatMap((target) => (target.kind === 'rank' ? [target.groupId] : [])));
  const named = new Map(
    targets.flatMap((target) => (target.kind === 'item' ? [[keyOf(target.item), target.item] as const] : [])),
  );
  const loads = [
    ...[...groupIds].map((id) => async () => {
      const group = await game.group(id);
      if (group) groups.set(id, group);
    }),
    ...[...named].map(([key, item]) => async () => {
      const name = await game.itemName(item);
      if (name !== null) items.set(key, name);
    }),
  ];
  const late = new AbortController();
  // The connector counts the failures of the game platform.
  const load = (start: () => Promise<void>) => start().catch(() => undefined);
  await within(NAMES_MS, inParallel(loads, MAX_CONCURRENT, load, late.signal)).catch(() => undefined);
  late.abort();
  return { groups: new Map(groups), items: new Map(items) };
}

/** Returns a sentence that explains the verdict on a role binding, with names instead of IDs where they are known. */
export function explain(target: Target, verdict: TargetVerdict, names: TargetNames): string {
  if (verdict.code === 'NOT_VERIFIED') return 'No game account is linked to this chat account';
  switch (target.kind) {
    case 'rank':
      return explainRank(target, verdict, names.groups.get(target.groupId));
    case 'item':
      return explainItem(target.item, verdict, names.items.get(keyOf(target.item)));
    case 'link':
      return 'A game account is linked to this chat account';
    default:
      return explainAge(target, verdict);
  }
}

function explainRank(
  { groupId, min, max }: Extract<Target, { kind: 'rank' }>,
  { code, rank = 0 }: TargetVerdict,
  group: GameGroup | undefined,
): string {
  const where = group?.name ?? `the group ${groupId}`;
  const named = (wanted: number) => {
    const name = group?.roles.find((role) => role.rank === wanted)?.name;
    return name === undefined ? `${wanted}` : `${wanted} (${name})`;
  };
  switch (code) {
    case 'RANK_IN_RANGE':
      return rank === 0
        ? `The user is not in ${where}, and rank 0 is within ${min} to ${max}`
        : `Rank ${named(rank)} in ${where} is within ${min} to ${max}`;
    case 'RANK_TOO_LOW':
      return `Rank ${named(rank)} in ${where} is below the minimum of ${named(min)}`;
    case 'RANK_TOO_HIGH':
      return `Rank ${named(rank)} in ${where} is above the maximum of ${named(max)}`;
    case 'NOT_IN_GROUP':
      return `The user is not in ${where}, and the minimum rank is ${named(min)}`;
    case 'ACCOUNT_REJECTED':
      return 'The game platform rejects requests about this account';
    default:
      return `The game platform cannot report the user's rank in ${where} now`;
  }
}

function explainItem({ kind, id }: GameItem, { code }: TargetVerdict, name: string | undefined): string {
  const item = name === undefined ? `the ${kind} ${id}` : `the ${kind} ${name}`;
  switch (code) {
    case 'OWNED':
      return `The user owns ${item}`;
    case 'NOT_OWNED':
      return `The user does not own ${item}`;
    case 'INVENTORY_PRIVATE':
      return `The inventory is private, so nobody can tell whether the user owns ${item}`;
    default:
      return `The game platform cannot report now whether the user owns ${item}`;
  }
}

function explainAge(
  { platform, minDays }: Extract<Target, { kind: 'age' }>,
  { code, days = 0 }: TargetVerdict,
): string {
  switch (code) {
    case 'OLD_ENOUGH':
      return `The ${platform} account is ${days} days old, at least ${minDays}`;
    case 'TOO_YOUNG':
      return `The ${platform} account is ${days} days old, less than ${minDays}`;
    case 'ACCOUNT_REJECTED':
      return 'The game platform does not show when the account was created';
    default:
      return 'The game platform cannot report now when the account was created';
  }
}
