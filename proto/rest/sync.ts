import { z } from 'zod';
import { defineRoutes, route } from './route.ts';
import {
  chatId,
  exactlyOneOf,
  gameId,
  gameIdOut,
  guildId,
  numberId,
  optional,
  roleId,
  text,
  timestamp,
  uuid,
  uuidOut,
} from './schemas.ts';

/** What a template may name. */
export const TEMPLATE_FIELDS = ['game_username', 'chat_username', 'rank_name'] as const;

const FIELD = new RegExp(`\\{(?:${TEMPLATE_FIELDS.join('|')})\\}`, 'g');

/** Whether every brace belongs to a field that is known. */
const isKnown = (template: string) => !/[{}]/.test(template.replaceAll(FIELD, ''));

const notBlank = [(value: string) => value.trim() !== '', { error: 'must not be blank' }] as const;

const nickname = z
  .string()
  .nullable()
  .meta({ description: 'The name in this guild; null for none', example: 'AdaBuilds' });

const roles = (description: string) => z.array(roleId).meta({ description });

const ROLE_FAILURES = [
  'ROLE_ABOVE_BOT',
  'ROLE_MANAGED',
  'ROLE_UNKNOWN',
  'MISSING_PERMISSION',
  'PLATFORM_ERROR',
] as const;

const JOB_STATES = ['queued', 'running', 'paused', 'done', 'failed'] as const;
const memberCount = (description: string, example: number) => z.int().min(0).meta({ description, example });

const platformErrors = { PLATFORM_ERROR: 'The chat or game platform refused or gave no readable answer' };

/** What makes members of the chat platform follow the game. */
export const syncRoutes = defineRoutes('members', {
  syncRoles: route({
    method: 'POST',
    path: '/sync/roles',
    scope: 'sync:write',
    category: 'sync_write',
    guild: 'body',
    body: z
      .object({
        guild_id: guildId,
        chat_id: optional(chatId),
        game_id: optional(gameId),
        dry_run: optional(z.boolean({ error: 'must be true or false' })).meta({
          description: 'Whether to tell what would be done, and to do nothing',
        }),
      })
      .refine(...exactlyOneOf('chat_id', 'game_id'))
      .meta({ example: { guild_id: '900000000000000001', chat_id: '920000000000000001' } }),
    data: z.object({
      chat_id: chatId,
      game_id: gameIdOut,
      added: roles('Given now'),
      removed: roles('Taken now'),
      unchanged: roles('Roles of bindings that the member had and keeps'),
      failed: z
        .array(
          z.object({
            role_id: roleId,
            code: z.enum(ROLE_FAILURES).meta({ description: 'Why, for programs', example: 'ROLE_ABOVE_BOT' }),
            message: z.string().meta({
              description: 'Why, for people',
              example: "The role Harbormaster is not below the bot's highest role",
            }),
          }),
        )
        .meta({ description: 'What could not be given or taken', example: [] }),
      nickname: z.null().meta({ description: 'Always null: roles are synchronised without the name' }),
      bindings: z
        .object({
          evaluated: z.int().meta({ description: 'Bindings that were weighed', example: 4 }),
          matched: z.int().meta({ description: 'Bindings that want their role', example: 2 }),
          unknown: z.int().meta({
            description: 'Bindings that could not be weighed now; their roles are neither given nor taken',
            example: 0,
          }),
        })
        .meta({ description: 'What the roles follow from' }),
      dry_run: z
        .boolean()
        .meta({ description: 'Whether nothing was changed because a dry run was requested', example: false }),
    }),
    status: 200,
    message: 'Roles synchronised',
    summary: "Brings a member's roles in line with the bindings",
    description:
      'A role is given if any of its bindings matches. It is taken if none matches and none is unknown, and a binding governs it or a sync gave it. A second call changes nothing.',
    writes: true,
    errors: { NOT_FOUND: 'The user is not verified in this guild, or not in it', ...platformErrors },
  }),
  syncGroup: route({
    method: 'POST',
    path: '/sync/group',
    scope: 'sync:write',
    category: 'sync_write',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      game_group_id: numberId('a group ID').meta({ description: 'Group on the game platform', example: 501 }),
    }),
    data: z.object({
      job_id: uuidOut.meta({ description: 'To ask for its state by' }),
      total: memberCount('Verified members of the guild', 120),
    }),
    status: 202,
    message: 'Group synchronisation queued',
    summary: 'Brings the roles of all verified members in line, for one game group',
    description:
      'Concerns the roles that a binding of the group governs; all bindings of such a role are weighed. A group that no binding names changes nothing. While a job of the group is not finished, it is told again and none is added.',
    writes: true,
    errors: { CONFLICT: 'The guild has too many jobs under way' },
  }),
  getSyncJob: route({
    method: 'GET',
    path: '/sync/jobs/:jobId',
    scope: 'sync:write',
    category: 'members_read',
    guild: 'header',
    params: z.object({ jobId: uuid.meta({ description: 'The `job_id` that the start of the job told' }) }),
    data: z.object({
      state: z.enum(JOB_STATES).meta({
        description:
          '`paused`: a platform or a part of the service is out of reach, and the job goes on by itself; `failed`: it was so for a day',
        example: 'running',
      }),
      total: memberCount('Verified members of the guild', 120),
      done: memberCount('Members dealt with; those who are not in the guild count at the end', 80),
      changed: memberCount('Members to whom a role was given or from whom one was taken', 12),
      failed: memberCount('Members of whom a role could not be given or taken', 1),
      errors: z
        .array(
          z.object({
            chat_id: chatId.nullable(),
            role_id: roleId.nullable(),
            code: z.string().meta({ description: 'Why, for programs', example: 'ROLE_ABOVE_BOT' }),
            message: z.string().meta({
              description: 'Why, for people',
              example: "The role Harbormaster is not below the bot's highest role",
            }),
          }),
        )
        .meta({
          description:
            'The first hundred of what could not be done; then, without a member, `ERRORS_LEFT_OUT` with the number of members of whom none is told, and last why the job is paused or has failed',
          example: [],
        }),
      started_at: timestamp.nullable(),
      finished_at: timestamp.nullable().meta({ example: null }),
    }),
    status: 200,
    message: 'Job found',
    summary: 'Tells how far a job has come',
    description: 'Jobs are kept for 30 days after their end.',
    writes: false,
    errors: { NOT_FOUND: 'The guild has no such job' },
  }),
  syncNickname: route({
    method: 'POST',
    path: '/sync/nickname',
    scope: 'sync:write',
    category: 'sync_write',
    guild: 'body',
    body: z
      .object({
        guild_id: guildId,
        chat_id: chatId,
        nickname: text(1, 200)
          .refine(...notBlank)
          .nullish()
          .meta({ description: 'At most 32 characters; null takes the nickname away' }),
        template: optional(
          text(1, 200)
            .refine(...notBlank)
            .refine(isKnown, {
              error: `may hold braces only around ${TEMPLATE_FIELDS.join(', ')}`,
            }),
        ).meta({
          description:
            'In place of `nickname`: a text with `{game_username}`, `{chat_username}` and `{rank_name}`. Who is not in the group has the rank Guest',
        }),
        game_group_id: optional(numberId('a group ID')).meta({
          description: 'The group of `{rank_name}`; that of the first `group_rank` binding when left out',
        }),
      })
      .refine((body) => (body.template === undefined ? body.nickname !== undefined : body.nickname == null), {
        error: 'must hold exactly one of nickname, template',
        when: () => true,
      })
      .meta({
        example: { guild_id: '900000000000000001', chat_id: '920000000000000001', template: '{game_username}' },
      }),
    data: z.object({ chat_id: chatId, from: nickname.meta({ example: null }), to: nickname }),
    status: 200,
    message: 'Nickname synchronised',
    summary: "Sets a member's nickname, takes it away, or makes it of a template",
    description: 'A nickname that is as it should be is not written again.',
    writes: true,
    errors: {
      INVALID_TARGET: 'The game platform knows no such group',
      NOT_FOUND: 'The account is not in this guild, or a template needs the game account and none is linked',
      NOT_APPLICABLE:
        'The nickname has more than 32 characters, the member stands above the bot, or no binding names a group',
      ...platformErrors,
    },
  }),
});
