import { z } from 'zod';
import type { Alternative } from './alternatives.ts';
import { bindingId, bindingType, targetFields } from './bindings/fields.ts';
import { byType, rule, withTypeRules } from './bindings/rules.ts';
import { defineRoutes, PLATFORM_FAILED, route } from './route.ts';
import { guildId, optional, roleId } from './schemas.ts';
import { queuedJob } from './sync.ts';

const oneOfBoth = rule(
  [],
  'must hold exactly one of binding_id, binding_type',
  (fields) => (fields['binding_id'] == null) !== (fields['binding_type'] == null),
);

const roleOfNewBinding = rule(
  ['chat_role_id'],
  'is required',
  (fields) => fields['binding_type'] == null || fields['chat_role_id'] != null,
);

const hasChange = (fields: Record<string, unknown>) =>
  ['min_rank', 'max_rank', 'authority', 'conditions'].some((field) => fields[field] != null) ||
  fields['priority'] !== undefined;

const changesStoredBinding = rule(
  [],
  'must hold at least one of min_rank, max_rank, priority, authority, conditions, remove',
  (fields) => fields['binding_id'] == null || fields['remove'] === true || hasChange(fields),
);

const removesWithoutChange = rule(
  ['remove'],
  'is only for a binding_id without changes',
  (fields) => fields['remove'] == null || (fields['binding_id'] != null && !hasChange(fields)),
);

/** The route that shows what adding, changing or removing a binding would do to all members. */
export const previewRoutes = defineRoutes('members', {
  previewBinding: route({
    method: 'POST',
    path: '/bindings/preview',
    scope: null,
    category: 'bindings_write',
    guild: 'body',
    body: withTypeRules(
      z.object({
        guild_id: guildId,
        binding_id: optional(bindingId).meta({ description: 'ID of a stored binding to change or remove' }),
        remove: optional(z.literal(true, { error: 'must be true' })).meta({
          description: 'True to preview its removal',
        }),
        chat_role_id: optional(roleId),
        binding_type: optional(bindingType),
        ...targetFields,
        priority: targetFields.priority.meta({ description: 'Has no effect on the result' }),
      }),
    )
      .refine(...oneOfBoth)
      .refine(...roleOfNewBinding)
      .refine(...changesStoredBinding)
      .refine(...removesWithoutChange)
      .meta({
        alternatives: [
          { required: ['binding_id'], optional: ['min_rank', 'max_rank'], absent: ['binding_type'] },
          ...byType,
        ] satisfies Alternative[],
        example: { guild_id: '900000000000000001', binding_id: 1, min_rank: 100 },
      }),
    data: queuedJob,
    status: 202,
    message: 'Preview queued',
    summary: 'Preview what a binding would do to all members',
    description: 'Starts a job. Nothing is changed. A newer preview of the guild ends an unfinished one.',
    writes: true,
    errors: {
      NOT_FOUND: 'No such binding in this guild',
      INVALID_TARGET: 'No such group, gamepass, asset or badge on the game platform',
      NOT_APPLICABLE: "The bot cannot assign this role: it is managed, or not below the bot's highest role",
      PLATFORM_ERROR: PLATFORM_FAILED,
    },
  }),
});
