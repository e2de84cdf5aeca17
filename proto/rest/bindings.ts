import { z } from 'zod';
import { BINDING_TYPES, byType, requiredByType, rule, validRange } from './bindings/rules.ts';
import { defineRoutes, PLATFORM_FAILED, route } from './route.ts';
import { chatId, guildId, numberId, optional, roleId } from './schemas.ts';

export { BINDING_TYPES, type BindingType, REQUIRED_FIELDS } from './bindings/rules.ts';

const whole = (min: number, max: number) =>
  z
    .int({ error: 'must be a whole number' })
    .min(min, { error: `must be at least ${min}` })
    .max(max, { error: `must be at most ${max}` });

/** A hundred years, which is older than any account of either platform. */
const MAX_ACCOUNT_AGE_DAYS = 36_500;
const MAX_PRIORITY = 2 ** 31 - 1;

const platform = z
  .enum(['chat', 'game'], { error: 'must be chat or game' })
  .meta({ id: 'Platform', description: 'The chat or the game platform' });

export const bindingType = z
  .enum(BINDING_TYPES, { error: `must be one of ${BINDING_TYPES.join(', ')}` })
  .meta({ id: 'BindingType', description: 'What a member must have to get the role', example: 'group_rank' });

export const bindingId = numberId('a binding ID').meta({ description: 'Binding ID', example: 1 });
const groupId = numberId('a group ID').meta({ description: 'Group ID on the game platform', example: 501 });
const minRank = whole(0, 255).meta({ description: 'Lowest rank that matches', example: 50 });
const maxRank = whole(0, 255).meta({ description: 'Highest rank that matches, at least `min_rank`', example: 255 });
const priority = whole(-MAX_PRIORITY, MAX_PRIORITY);

const outId = (description: string) => z.int().min(1).nullable().meta({ description, example: null });
const outRank = (description: string, example: number) => z.int().nullable().meta({ description, example });

/** The fields of a new binding that depend on its type, and its priority. */
export const targetFields = {
  game_group_id: optional(groupId).meta({ description: 'Group ID; required for `group_rank`', example: 501 }),
  min_rank: optional(minRank).meta({
    description: 'Lowest rank that matches; required for `group_rank`',
    example: 50,
  }),
  max_rank: optional(maxRank).meta({
    description: 'Highest rank that matches, at least `min_rank`; required for `group_rank`',
    example: 255,
  }),
  game_gamepass_id: optional(numberId('a gamepass ID')).meta({
    description: 'Gamepass ID; required for `gamepass`',
  }),
  game_asset_id: optional(numberId('an asset ID')).meta({ description: 'Asset ID; required for `asset`' }),
  game_badge_id: optional(numberId('a badge ID')).meta({ description: 'Badge ID; required for `badge`' }),
  account_age_platform: optional(platform).meta({
    description: 'Platform of the account whose age is checked; required for `account_age`',
  }),
  account_age_min_days: optional(whole(0, MAX_ACCOUNT_AGE_DAYS)).meta({
    description: 'Minimum age of the account in days; required for `account_age`',
  }),
  priority: optional(priority).meta({
    description: 'Position in the list: lower values come first',
    example: 10,
  }),
};

/** A role binding as responses return it. */
export const binding = z
  .object({
    id: z.int().min(1).meta({ description: 'Binding ID', example: 1 }),
    chat_role_id: roleId,
    chat_role_name: z.string().nullable().meta({
      description: 'Role name; null if the role no longer exists or its name is not available from the chat platform',
      example: 'Officer',
    }),
    binding_type: bindingType,
    game_group_id: z.int().min(1).nullable().meta({ description: 'Group ID, for `group_rank`', example: 501 }),
    game_group_name: z.string().nullable().meta({
      description: 'Group name; null if the group no longer exists or its name is not available from the game platform',
      example: 'Harbor Crew',
    }),
    min_rank: outRank('Lowest rank that matches, for `group_rank`', 50),
    max_rank: outRank('Highest rank that matches, for `group_rank`', 255),
    gamepass_id: outId('Gamepass ID, for `gamepass`'),
    asset_id: outId('Asset ID, for `asset`'),
    badge_id: outId('Badge ID, for `badge`'),
    account_age_platform: platform
      .nullable()
      .meta({ description: 'Platform of the account whose age is checked, for `account_age`', example: null }),
    account_age_min_days: z
      .int()
      .nullable()
      .meta({ description: 'Minimum age of the account in days, for `account_age`', example: null }),
    priority: z.int().nullable().meta({ description: 'Position in the list: lower values come first', example: 10 }),
  })
  .meta({
    id: 'Binding',
    description:
      'A rule that gives a chat role to members with matching game data. Fields that do not belong to the binding type are null',
  });

const noSuchBinding = { NOT_FOUND: 'No such binding in this guild' };
const identical = 'The guild already has an identical binding: same role, type, target and range';
const bindingExample = {
  id: 1,
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
    summary: 'List role bindings',
    description: 'Ordered by priority, then by ID. Bindings without a priority come last.',
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
        binding_type: bindingType,
        ...targetFields,
      })
      .refine(...requiredByType('game_group_id'))
      .refine(...requiredByType('min_rank'))
      .refine(...requiredByType('max_rank'))
      .refine(...validRange)
      .refine(...requiredByType('game_gamepass_id'))
      .refine(...requiredByType('game_asset_id'))
      .refine(...requiredByType('game_badge_id'))
      .refine(...requiredByType('account_age_platform'))
      .refine(...requiredByType('account_age_min_days'))
      .meta({ alternatives: byType }),
    data: binding,
    status: 201,
    message: 'Binding added',
    summary: 'Add a role binding',
    description:
      'Gives a chat role to every member with matching game data, such as a group rank, at the next sync. ' +
      'It is saved only if the role and its target exist on their platforms. ' +
      'Fields that the type does not use are validated and ignored.',
    writes: true,
    errors: {
      INVALID_TARGET: 'The group, gamepass, asset or badge does not exist on the game platform',
      NOT_APPLICABLE: "The bot cannot assign this role: it is managed, or not below the bot's highest role",
      PLATFORM_ERROR: 'The game or chat platform failed or rejected the request; nothing was saved',
      CONFLICT: `${identical}, or the guild already has 500 bindings`,
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
        min_rank: optional(minRank).meta({ description: 'Lowest rank that matches', example: 100 }),
        max_rank: optional(maxRank).meta({ description: 'Highest rank that matches', example: 255 }),
        priority: priority.nullish().meta({ description: 'New priority; null removes it', example: 5 }),
      })
      .refine(...validRange)
      .refine(
        ...rule(
          [],
          'must hold at least one of min_rank, max_rank, priority',
          (fields) => fields['min_rank'] != null || fields['max_rank'] != null || fields['priority'] !== undefined,
        ),
      )
      .meta({ example: { binding_id: 1, min_rank: 100, priority: 5 } }),
    data: binding.meta({ example: bindingExample }),
    status: 200,
    message: 'Binding updated',
    summary: "Update a binding's rank range or priority",
    description: 'Omitted fields and ranks that are null stay unchanged. Only a `group_rank` binding has ranks.',
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
      removed: z.literal(true),
      id: z.int().min(1).meta({ description: 'ID of the removed binding', example: 1 }),
    }),
    status: 200,
    message: 'Binding removed',
    summary: 'Remove a binding',
    description: 'Members keep the role until the next sync.',
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
      matches: z
        .boolean()
        .meta({ description: 'True if the member matches the binding and gets its role', example: false }),
      reason: z.string().meta({ description: 'Explanation for people', example: 'rank 12 is below the minimum of 50' }),
      user_rank: z.int().optional().meta({
        description: "The member's matching rank, otherwise the highest one; 0 if not in the group",
        example: 12,
      }),
    }),
    status: 200,
    message: 'Binding tested',
    summary: 'Test a binding for a member',
    description: 'Checks whether a verified member matches a `group_rank` binding, and explains why.',
    writes: false,
    errors: {
      NOT_FOUND: 'No such binding in this guild, or the member is not verified in it',
      PLATFORM_ERROR: PLATFORM_FAILED,
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
      .refine(...validRange)
      .meta({ example: { game_group_id: 501, min_rank: 50, max_rank: 255 } }),
    data: z.object({
      valid: z.boolean().meta({
        description:
          'True if the group exists and a user can match: the group has a role in the range, or the range includes 0, the rank of users who are not in the group',
        example: true,
      }),
      group_id: z.int().min(1).meta({ description: 'The group ID of the request', example: 501 }),
      group_name: z
        .string()
        .nullable()
        .meta({ description: 'Group name; null if the group does not exist', example: 'Harbor Crew' }),
      reason: z.string().optional().meta({ description: 'Explanation for people; present only if `valid` is false' }),
    }),
    status: 200,
    message: 'Configuration checked',
    summary: 'Validate a binding configuration',
    description: 'Checks whether the group exists and whether a user can match the rank range. Nothing is saved.',
    writes: false,
    errors: { PLATFORM_ERROR: PLATFORM_FAILED },
  }),
});
