import type { Fault } from '#kit/errors.ts';
import type { Authority } from '#proto/rest/bindings.ts';
import type { Binding, Condition } from './binding.ts';

/** New ranks, conditions and authority of a role binding; undefined fields keep their values. */
export interface RuleChange {
  minRank?: number | undefined;
  maxRank?: number | undefined;
  conditions?: readonly Condition[] | undefined;
  authority?: Authority | undefined;
}

/** Returns a role binding with a change. */
export const withChange = (binding: Binding, change: RuleChange): Binding => ({
  ...binding,
  minRank: change.minRank ?? binding.minRank,
  maxRank: change.maxRank ?? binding.maxRank,
  conditions: change.conditions ?? binding.conditions,
  authority: change.authority ?? binding.authority,
});

/** Returns the validation errors of a change to the ranks of a role binding; empty if the change is valid. */
export function rankFaults(binding: Binding, { minRank, maxRank }: RuleChange, changed: Binding): Fault[] {
  const given = [minRank === undefined ? [] : 'min_rank', maxRank === undefined ? [] : 'max_rank'].flat();
  if (binding.type !== 'group_rank') {
    return given.map((field) => ({ path: `body.${field}`, message: `is not for a binding of type ${binding.type}` }));
  }
  if ((changed.maxRank ?? 0) >= (changed.minRank ?? 0)) return [];
  return maxRank === undefined
    ? [{ path: 'body.min_rank', message: `must be at most the max_rank of ${binding.maxRank}` }]
    : [{ path: 'body.max_rank', message: `must be at least the min_rank of ${changed.minRank}` }];
}
