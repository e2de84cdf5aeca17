import { z } from 'zod';
import {
  binding,
  bindingId,
  bindingType,
  groupId,
  maxRank,
  minRank,
  priority,
  ruleFields,
  targetFields,
  templateField,
} from './bindings/fields.ts';
import { byType, rule, validRange, withTypeRules } from './bindings/rules.ts';
import { defineRoutes, PLATFORM_FAILED, route } from './route.ts';
import { chatId, guildId, optional, roleId } from './schemas.ts';

export { binding } from './bindings/fields.ts';
export {
  AUTHORITIES,
  type Authority,
  BINDING_TYPES,
  type BindingType,
  MAX_CONDITIONS,
  REQUIRED_FIELDS,
} from './bindings/rules.ts';

const noSuchBinding = { NOT_FOUND: 'No such binding in this guild' };
const identical = 'An identical binding exists: same role, type, target, range and conditions';
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

/** True if the body of an update changes something. */
const hasChange = (fields: Record<string, unknown>) =>
  ['min_rank', 'max_rank', 'authority', 'conditions'].some((field) => fields[field] != null) ||
  fields['priority'] !== undefined ||
  fields['nickname_template'] !== undefined;

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
    body: withTypeRules(
      z.object({
        guild_id: guildId,
        chat_role_id: roleId,
        binding_type: bindingType,
        ...targetFields,
        nickname_template: templateField,
      }),
    ).meta({ alternatives: byType }),
    data: binding,
    status: 201,
    message: 'Binding added',
    summary: 'Add a role binding',
    description:
      'Gives a chat role to members with matching game data at the next sync. ' +
      'It is saved only if the role and its target exist on their platforms. ' +
      'Fields that the type does not use are validated and ignored.',
    writes: true,
    errors: {
      INVALID_TARGET: 'No such group, gamepass, asset or badge on the game platform',
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
        ...ruleFields,
        nickname_template: templateField.meta({ description: 'New template of nicknames; null removes it' }),
      })
      .refine(...validRange)
      .refine(
        ...rule(
          [],
          'must hold at least one of min_rank, max_rank, priority, authority, conditions, nickname_template',
          hasChange,
        ),
      )
      .meta({ example: { binding_id: 1, min_rank: 100, priority: 5 } }),
    data: binding.meta({ example: bindingExample }),
    status: 200,
    message: 'Binding updated',
    summary: "Update a binding's rank range, priority, conditions or authority",
    description:
      'Omitted fields, and ranks, conditions and an authority that are null, stay unchanged. Only a `group_rank` binding has ranks.',
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
    description: 'For bindings of type `group_rank`, `verified` and `unverified`.',
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
          'True if the group exists and has a role in the range, or the range includes 0, the rank of users who are not in the group',
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
    description: 'Checks that the group exists and the range can match. Nothing is saved.',
    writes: false,
    errors: { PLATFORM_ERROR: PLATFORM_FAILED },
  }),
});
