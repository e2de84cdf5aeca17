import { z } from 'zod';
import { defineRoutes, route } from './route.ts';
import { chatId, guildId, numberId, optional, roleId } from './schemas.ts';

export const BINDING_TYPES = ['group_rank', 'gamepass', 'asset', 'badge', 'account_age'] as const;

export type BindingType = (typeof BINDING_TYPES)[number];

/** What a binding of each type must have when it is added; fields of other types are ignored. */
export const REQUIRED_FIELDS = {
  group_rank: ['game_group_id', 'min_rank', 'max_rank'],
  gamepass: ['game_gamepass_id'],
  asset: ['game_asset_id'],
  badge: ['game_badge_id'],
  account_age: ['account_age_platform', 'account_age_min_days'],
} as const satisfies Record<BindingType, readonly string[]>;

const whole = (min: number, max: number) =>
  z
    .int({ error: 'must be a whole number' })
    .min(min, { error: `must be at least ${min}` })
    .max(max, { error: `must be at most ${max}` });

/** An account that old was made before either platform was. */
const MOST_DAYS = 36_500;
const LARGEST_PRIORITY = 2 ** 31 - 1;

const bindingId = numberId('a binding ID').meta({ description: 'The binding', example: 17 });
const groupId = numberId('a group ID').meta({ description: 'Group on the game platform', example: 501 });
const minRank = whole(0, 255).meta({ description: 'Lowest rank that counts', example: 50 });
const maxRank = whole(0, 255).meta({ description: 'Highest rank that counts, at least `min_rank`', example: 255 });
const priority = whole(-LARGEST_PRIORITY, LARGEST_PRIORITY);

const outId = (description: string) => z.int().min(1).nullable().meta({ description, example: null });
const outRank = (description: string, example: number) => z.int().nullable().meta({ description, example });

const binding = z
  .object({
    id: z.int().min(1).meta({ description: 'Names the binding', example: 17 }),
    chat_role_id: roleId,
    chat_role_name: z.string().nullable().meta({
      description: 'null when there is no such role any more, or the chat platform does not tell',
      example: 'Officer',
    }),
    binding_type: z.enum(BINDING_TYPES).meta({ description: 'What the role follows from', example: 'group_rank' }),
    game_group_id: z.int().min(1).nullable().meta({ description: 'Of a `group_rank`', example: 501 }),
    game_group_name: z.string().nullable().meta({
      description: 'null when there is no such group any more, or the game platform does not tell',
      example: 'Harbor Crew',
    }),
    min_rank: outRank('Lowest rank that counts, of a `group_rank`', 50),
    max_rank: outRank('Highest rank that counts, of a `group_rank`', 255),
    gamepass_id: outId('Of a `gamepass`'),
    asset_id: outId('Of an `asset`'),
    badge_id: outId('Of a `badge`'),
    account_age_platform: z
      .enum(['chat', 'game'])
      .nullable()
      .meta({ description: 'Whose account counts, of an `account_age`', example: null }),
    account_age_min_days: z
      .int()
      .nullable()
      .meta({ description: 'Least age of the account, of an `account_age`', example: null }),
    priority: z.int().nullable().meta({ description: 'The lower, the earlier in the list', example: 10 }),
  })
  .meta({
    id: 'Binding',
    description: 'A chat role that follows from game data; null stands in every field that the type has none of',
  });

type Rule = [rule: (body: unknown) => boolean, params: { path: string[]; error: string; when: () => boolean }];

/** A rule about fields together, told beside all other faults. */
const rule = (path: string[], error: string, holds: (fields: Record<string, unknown>) => boolean): Rule => [
  (body) => holds(body as Record<string, unknown>),
  { path, error, when: () => true },
];

const soundRange = rule(
  ['max_rank'],
  'must be at least min_rank',
  ({ binding_type: type = 'group_rank', min_rank: min, max_rank: max }) =>
    type !== 'group_rank' || typeof min !== 'number' || typeof max !== 'number' || max >= min,
);

/** The field is there where the type needs it. */
function requiredByType(field: string): Rule {
  const types = BINDING_TYPES.filter((type) => (REQUIRED_FIELDS[type] as readonly string[]).includes(field));
  return rule(
    [field],
    'is required',
    (fields) => !types.includes(fields['binding_type'] as BindingType) || fields[field] != null,
  );
}

const noSuchBinding = { NOT_FOUND: 'No such binding in this guild' };
const identical = 'The guild has an identical binding: same role, type, target and range';
const bindingExample = {
  id: 17,
  chat_role_id: '910000000000000001',
  chat_role_name: 'Officer',
  binding_type: 'group_rank',
  game_group_id: 501,
  game_group_name: 'Harbor Crew',
  min_rank: 100,
  max_rank: 255,
  gamepass_id: null,
  asset_id: null,
  badge_id: null,
  account_age_platform: null,
  account_age_min_days: null,
  priority: 5,
};

export const bindingsRoutes = defineRoutes('bindings', {
  listBindings: route({
    method: 'GET',
    path: '/bindings/list',
    scope: null,
    category: 'bindings_read',
    guild: 'header',
    data: z.object({ bindings: z.array(binding) }),
    status: 200,
    message: 'Bindings listed',
    summary: 'All bindings of the guild, by priority (those without one last), then by ID',
    writes: false,
  }),
  addBinding: route({
    method: 'POST',
    path: '/bindings/add',
    scope: null,
    category: 'bindings_write',
    guild: 'body',
    body: z
      .object({
        guild_id: guildId,
        chat_role_id: roleId,
        binding_type: z
          .enum(BINDING_TYPES, { error: `must be one of ${BINDING_TYPES.join(', ')}` })
          .meta({ description: 'What the role follows from', example: 'group_rank' }),
        game_group_id: optional(groupId).meta({ description: 'Required by `group_rank`', example: 501 }),
        min_rank: optional(minRank).meta({ description: 'Required by `group_rank`: lowest rank', example: 50 }),
        max_rank: optional(maxRank).meta({
          description: 'Required by `group_rank`: highest rank, at least `min_rank`',
          example: 255,
        }),
        game_gamepass_id: optional(numberId('a gamepass ID')).meta({ description: 'Required by `gamepass`' }),
        game_asset_id: optional(numberId('an asset ID')).meta({ description: 'Required by `asset`' }),
        game_badge_id: optional(numberId('a badge ID')).meta({ description: 'Required by `badge`' }),
        account_age_platform: optional(z.enum(['chat', 'game'], { error: 'must be chat or game' })).meta({
          description: 'Required by `account_age`: whose account counts',
        }),
        account_age_min_days: optional(whole(0, MOST_DAYS)).meta({
          description: 'Required by `account_age`: least age of the account',
        }),
        priority: optional(priority).meta({ description: 'The lower, the earlier in the list', example: 10 }),
      })
      .refine(...requiredByType('game_group_id'))
      .refine(...requiredByType('min_rank'))
      .refine(...requiredByType('max_rank'))
      .refine(...soundRange)
      .refine(...requiredByType('game_gamepass_id'))
      .refine(...requiredByType('game_asset_id'))
      .refine(...requiredByType('game_badge_id'))
      .refine(...requiredByType('account_age_platform'))
      .refine(...requiredByType('account_age_min_days')),
    data: binding,
    status: 201,
    message: 'Binding added',
    summary: 'Binds a chat role to game data',
    description:
      'Nothing is saved unless both platforms know what is named. Fields that the type does not need must be well formed and are ignored. ' +
      'No member changes by it before the next sync.',
    writes: true,
    errors: {
      INVALID_TARGET: 'The game platform knows no such group, gamepass, asset or badge',
      NOT_APPLICABLE: 'The bot can not give this role: it is managed, or not below its own highest',
      PLATFORM_ERROR: 'The game or chat platform refused or gave no readable answer; nothing was saved',
      CONFLICT: `${identical}, or it has 500 bindings`,
    },
  }),
  updateBinding: route({
    method: 'PATCH',
    path: '/bindings/update',
    scope: null,
    category: 'bindings_write',
    guild: 'key',
    body: z
      .object({
        binding_id: bindingId,
        min_rank: optional(minRank).meta({ description: 'Lowest rank that counts', example: 100 }),
        max_rank: optional(maxRank).meta({ description: 'Highest rank that counts', example: 255 }),
        priority: priority.nullish().meta({ description: 'null removes it', example: 5 }),
      })
      .refine(...soundRange)
      .refine(
        ...rule(
          [],
          'must hold at least one of min_rank, max_rank, priority',
          (fields) => fields['min_rank'] != null || fields['max_rank'] != null || fields['priority'] !== undefined,
        ),
      )
      .meta({ example: { binding_id: 17, min_rank: 100, priority: 5 } }),
    data: binding.meta({ example: bindingExample }),
    status: 200,
    message: 'Binding updated',
    summary: 'Changes the range or the priority of a binding',
    description: 'What is left out stays as it is, and so does a rank that is null. Ranks only of a `group_rank`.',
    writes: true,
    errors: { ...noSuchBinding, CONFLICT: identical },
  }),
  removeBinding: route({
    method: 'DELETE',
    path: '/bindings/remove/:bindingId',
    scope: null,
    category: 'bindings_write',
    guild: 'key',
    params: z.object({ bindingId }),
    data: z.object({
      removed: z.literal(true).meta({ description: 'Always true' }),
      id: z.int().min(1).meta({ description: 'The binding that was', example: 17 }),
    }),
    status: 200,
    message: 'Binding removed',
    summary: 'Takes a binding away',
    description: 'No member changes by it before the next sync.',
    writes: true,
    errors: noSuchBinding,
  }),
  testBinding: route({
    method: 'POST',
    path: '/bindings/test',
    scope: null,
    category: 'bindings_write',
    guild: 'body',
    body: z.object({ guild_id: guildId, chat_id: chatId, binding_id: bindingId }),
    data: z.object({
      matches: z.boolean().meta({ description: 'Whether the binding gives the member its role', example: false }),
      reason: z.string().meta({ description: 'Why, for a person', example: 'rank 12 is below the minimum of 50' }),
      user_rank: z
        .int()
        .optional()
        .meta({ description: 'The rank that matches, else the highest; 0 when not in the group', example: 12 }),
    }),
    status: 200,
    message: 'Binding tested',
    summary: 'Whether a verified member matches a `group_rank` binding, and why',
    writes: false,
    errors: {
      NOT_FOUND: 'No such binding in this guild, or the member is not verified in it',
      PLATFORM_ERROR: 'The game platform refused or gave no readable answer',
    },
  }),
  validateBinding: route({
    method: 'POST',
    path: '/bindings/validate',
    scope: null,
    category: 'bindings_write',
    guild: 'key',
    body: z
      .object({ game_group_id: groupId, min_rank: minRank, max_rank: maxRank })
      .refine(...soundRange)
      .meta({ example: { game_group_id: 501, min_rank: 50, max_rank: 255 } }),
    data: z.object({
      valid: z.boolean().meta({
        description:
          'Whether the group exists and somebody can match: it has a role in the range, or the range has 0, the rank of everybody outside it',
        example: true,
      }),
      group_id: z.int().min(1).meta({ description: 'As given', example: 501 }),
      group_name: z.string().nullable().meta({ description: 'null if there is no such group', example: 'Harbor Crew' }),
      reason: z.string().optional().meta({ description: 'Why not, for a person; only where `valid` is false' }),
    }),
    status: 200,
    message: 'Configuration checked',
    summary: 'Whether a group and a range of its ranks make a sound binding; nothing is saved',
    writes: false,
    errors: { PLATFORM_ERROR: 'The game platform refused or gave no readable answer' },
  }),
});
