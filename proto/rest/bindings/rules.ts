import type { z } from 'zod';
import type { Alternative } from '../alternatives.ts';

export const BINDING_TYPES = [
  'group_rank',
  'gamepass',
  'asset',
  'badge',
  'account_age',
  'verified',
  'unverified',
] as const;

export type BindingType = (typeof BINDING_TYPES)[number];

/** The fields that a new binding of each type must have. Fields of other types are ignored. */
export const REQUIRED_FIELDS = {
  group_rank: ['game_group_id', 'min_rank', 'max_rank'],
  gamepass: ['game_gamepass_id'],
  asset: ['game_asset_id'],
  badge: ['game_badge_id'],
  account_age: ['account_age_platform', 'account_age_min_days'],
  verified: [],
  unverified: [],
} as const satisfies Record<BindingType, readonly string[]>;

/** The form of a new binding of each type. */
export const byType: Alternative[] = BINDING_TYPES.map((type) => ({
  required: ['binding_type', ...REQUIRED_FIELDS[type]],
  values: { binding_type: type },
}));

/** The maximum number of further conditions of a binding. */
export const MAX_CONDITIONS = 5;

/**
 * When a role is taken from members who match none of its bindings. `grant`: never. `managed`: if a sync assigned it.
 * `own`: always.
 */
export const AUTHORITIES = ['grant', 'managed', 'own'] as const;

export type Authority = (typeof AUTHORITIES)[number];

type Rule = [rule: (body: unknown) => boolean, params: { path: string[]; error: string; when: () => boolean }];

/**
 * A rule about several fields. Its fault is reported together with all other faults of the body. A value without fields,
 * such as null in a list of conditions, has another fault already.
 */
export const rule = (path: string[], error: string, holds: (fields: Record<string, unknown>) => boolean): Rule => [
  (body) => typeof body !== 'object' || body === null || holds(body as Record<string, unknown>),
  { path, error, when: () => true },
];

/** `max_rank` of a `group_rank` must not be below `min_rank`. */
export const validRange = rule(
  ['max_rank'],
  'must be at least min_rank',
  ({ binding_type: type = 'group_rank', min_rank: min, max_rank: max }) =>
    type !== 'group_rank' || typeof min !== 'number' || typeof max !== 'number' || max >= min,
);

/** The field is required for the binding types that need it. */
export function requiredByType(field: string): Rule {
  const types = BINDING_TYPES.filter((type) => (REQUIRED_FIELDS[type] as readonly string[]).includes(field));
  return rule(
    [field],
    'is required',
    (fields) => !types.includes(fields['binding_type'] as BindingType) || fields[field] != null,
  );
}

/** Adds the rules about the fields that depend on a binding type to the schema of an object. */
export function withTypeRules<Schema extends z.ZodObject>(schema: Schema): Schema {
  return schema
    .refine(...requiredByType('game_group_id'))
    .refine(...requiredByType('min_rank'))
    .refine(...requiredByType('max_rank'))
    .refine(...validRange)
    .refine(...requiredByType('game_gamepass_id'))
    .refine(...requiredByType('game_asset_id'))
    .refine(...requiredByType('game_badge_id'))
    .refine(...requiredByType('account_age_platform'))
    .refine(...requiredByType('account_age_min_days'));
}
