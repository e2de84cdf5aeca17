import { z } from 'zod';
import { nicknameTemplate } from '../nickname-template.ts';
import { listOf, numberId, optional, roleId } from '../schemas.ts';
import { AUTHORITIES, BINDING_TYPES, byType, MAX_CONDITIONS, withTypeRules } from './rules.ts';

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

export const bindingType = z.enum(BINDING_TYPES, { error: `must be one of ${BINDING_TYPES.join(', ')}` }).meta({
  id: 'BindingType',
  description: 'What a member must have. `verified`: a linked game account; `unverified`: none',
  example: 'group_rank',
});

const authority = z.enum(AUTHORITIES, { error: `must be one of ${AUTHORITIES.join(', ')}` }).meta({
  id: 'BindingAuthority',
  description:
    'When members lose the role who match none of its bindings. `grant`: never; `managed`: if a sync assigned it; `own`: always. If omitted, `own` for verified members, otherwise `managed`',
});

export const bindingId = numberId('a binding ID').meta({ description: 'Binding ID', example: 1 });
export const groupId = numberId('a group ID').meta({ description: 'Group ID on the game platform', example: 501 });
export const minRank = whole(0, 255).meta({ description: 'Lowest rank that matches', example: 50 });
export const maxRank = whole(0, 255).meta({
  description: 'Highest rank that matches, at least `min_rank`',
  example: 255,
});
export const priority = whole(-MAX_PRIORITY, MAX_PRIORITY);

/** The fields of a request that depend on a binding type. */
const typeFields = {
  game_group_id: optional(groupId).meta({ description: 'Group ID, for `group_rank`', example: 501 }),
  min_rank: optional(minRank).meta({ description: 'Lowest rank that matches, for `group_rank`', example: 50 }),
  max_rank: optional(maxRank).meta({
    description: 'Highest rank that matches for `group_rank`, at least `min_rank`',
    example: 255,
  }),
  game_gamepass_id: optional(numberId('a gamepass ID')).meta({ description: 'Gamepass ID, for `gamepass`' }),
  game_asset_id: optional(numberId('an asset ID')).meta({ description: 'Asset ID, for `asset`' }),
  game_badge_id: optional(numberId('a badge ID')).meta({ description: 'Badge ID, for `badge`' }),
  account_age_platform: optional(platform).meta({
    description: 'Which account must be old enough, for `account_age`',
  }),
  account_age_min_days: optional(whole(0, MAX_ACCOUNT_AGE_DAYS)).meta({
    description: 'Minimum age of the account in days, for `account_age`',
  }),
};

const condition = withTypeRules(z.object({ binding_type: bindingType, ...typeFields })).meta({
  id: 'BindingConditionInput',
  description: 'What a member must have, with the fields of its type',
  alternatives: byType,
});

/** The fields of a new or changed binding that are not about its type, except its priority. */
export const ruleFields = {
  authority: optional(authority),
  conditions: optional(listOf(condition, MAX_CONDITIONS, 'conditions')).meta({
    description: 'Must all match as well',
  }),
};

/** The template of the nicknames that a sync gives to members who match a binding; null removes it. */
export const templateField = nicknameTemplate
  .nullish()
  .meta({ description: 'Template of the nicknames of members who match, as for `POST /sync/nickname`' });

/** The fields of a new binding, except its type and its role. */
export const targetFields = {
  ...typeFields,
  ...ruleFields,
  priority: optional(priority).meta({ description: 'Position in the list: lower values come first', example: 10 }),
};

const outId = (description: string) => z.int().min(1).nullable().meta({ description, example: null });
const outRank = (description: string, example: number) => z.int().nullable().meta({ description, example });

/** The fields of a response that depend on a binding type. */
const typeFieldsOut = {
  binding_type: bindingType,
  game_group_id: z.int().min(1).nullable().meta({ description: 'Group ID, for `group_rank`', example: 501 }),
  min_rank: outRank('Lowest rank that matches, for `group_rank`', 50),
  max_rank: outRank('Highest rank that matches, for `group_rank`', 255),
  gamepass_id: outId('Gamepass ID, for `gamepass`'),
  asset_id: outId('Asset ID, for `asset`'),
  badge_id: outId('Badge ID, for `badge`'),
  account_age_platform: platform
    .nullable()
    .meta({ description: 'Which account must be old enough, for `account_age`', example: null }),
  account_age_min_days: z
    .int()
    .nullable()
    .meta({ description: 'Minimum age of the account in days, for `account_age`', example: null }),
};

const conditionOut = z.object(typeFieldsOut).meta({
  id: 'BindingCondition',
  description: 'What a member must have. Fields that do not belong to the binding type are null',
});

/** A role binding as responses return it. Fields that the specification does not know are left out unless they are set. */
export const binding = z
  .object({
    id: z.int().min(1).meta({ description: 'Binding ID', example: 1 }),
    chat_role_id: roleId,
    chat_role_name: z.string().nullable().meta({
      description: 'Role name; null if the role was deleted or the chat platform is not available',
      example: 'Officer',
    }),
    ...typeFieldsOut,
    game_group_name: z.string().nullable().meta({
      description: 'Group name; null if the group was deleted or the game platform is not available',
      example: 'Harbor Crew',
    }),
    priority: z.int().nullable().meta({ description: 'Position in the list: lower values come first', example: 10 }),
    authority: authority.optional(),
    conditions: z.array(conditionOut).optional().meta({ description: 'Must all match as well' }),
    nickname_template: z.string().optional().meta({ description: 'Template of the nicknames of members who match' }),
  })
  .meta({
    id: 'Binding',
    description: 'A rule that gives a chat role to members who match it',
  });
