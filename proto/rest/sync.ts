import { z } from 'zod';
import type { Alternative } from './alternatives.ts';
import { nicknameTemplate, notBlank } from './nickname-template.ts';
import { defineRoutes, PLATFORM_FAILED, route } from './route.ts';
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

const nickname = z.string().nullable().meta({ description: 'Nickname in this guild', example: 'AdaBuilds' });

/** The former and the new nickname of a member. */
export const nicknameChange = z
  .object({ chat_id: chatId, from: nickname.meta({ example: null }), to: nickname })
  .meta({ id: 'NicknameChange', description: 'The former and the new nickname of a member' });

const roles = (description: string) => z.array(roleId).meta({ description });

const ROLE_FAILURES = [
  'ROLE_ABOVE_BOT',
  'ROLE_MANAGED',
  'ROLE_UNKNOWN',
  'MISSING_PERMISSION',
  'PLATFORM_ERROR',
] as const;

/** A role that could not be assigned or removed. */
export const roleFailure = z
  .object({
    role_id: roleId,
    code: z.enum(ROLE_FAILURES).meta({ id: 'RoleFailureCode', description: 'Reason code', example: 'ROLE_ABOVE_BOT' }),
    message: z.string().meta({
      description: 'Explanation for people',
      example: "The role Harbormaster is not below the bot's highest role",
    }),
  })
  .meta({ id: 'RoleFailure', description: 'A role that could not be changed' });

/** The fields with the role changes of one member. */
export const syncedRoles = {
  added: roles('Roles that were assigned'),
  removed: roles('Roles that were removed'),
  failed: z.array(roleFailure).meta({ description: 'Roles that could not be changed', example: [] }),
};

const JOB_STATES = ['queued', 'running', 'paused', 'done', 'failed'] as const;
const memberCount = (description: string, example: number) => z.int().min(0).meta({ description, example });

/** The fields of a job with its counts and times. */
export const syncJob = {
  total: memberCount('Verified members of the guild', 120),
  done: memberCount('Members processed. Users who left the guild are counted at the end', 80),
  changed: memberCount('Members whose roles or nickname changed', 12),
  failed: memberCount('Members with a role that could not be changed', 1),
  started_at: timestamp.nullable(),
  finished_at: timestamp.nullable().meta({ example: null }),
};

/** The response to a request that starts a job. */
export const queuedJob = z
  .object({
    job_id: uuidOut.meta({ description: 'ID of the job, for `GET /sync/jobs/{jobId}`' }),
    total: syncJob.total,
  })
  .meta({ id: 'QueuedJob', description: 'A job that was started' });

const previewResult = z
  .object({
    roles: z.array(
      z.object({
        role_id: roleId,
        gained: memberCount('Members who would get the role', 3),
        lost: memberCount('Members who would lose the role', 1),
        unknown: memberCount('Members for whom the game platform cannot tell', 0),
      }),
    ),
    members: z
      .array(
        z.object({
          chat_id: chatId,
          username: z.string().meta({ description: 'Username on the chat platform', example: 'ada' }),
          role_id: roleId,
          change: z.enum(['gained', 'lost']).meta({ description: 'What would change', example: 'gained' }),
        }),
      )
      .meta({ description: 'The first 100 changes' }),
  })
  .meta({
    id: 'PreviewResult',
    description: 'What a sync would change. Only jobs of `POST /bindings/preview` have it',
  });

const platformErrors = {
  PLATFORM_ERROR: PLATFORM_FAILED,
};

/** Routes that synchronise roles and nicknames of guild members with the game. */
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
          description: 'If true, only reports what would change',
        }),
      })
      .refine(...exactlyOneOf('chat_id', 'game_id'))
      .meta({ example: { guild_id: '900000000000000001', chat_id: '920000000000000001' } }),
    data: z
      .object({
        chat_id: chatId,
        game_id: gameIdOut,
        added: syncedRoles.added,
        removed: syncedRoles.removed,
        unchanged: roles('Roles of bindings that the member had and keeps'),
        failed: syncedRoles.failed,
        nickname: z.null().meta({ description: 'Always null: this route does not change the nickname' }),
        bindings: z
          .object({
            evaluated: z.int().meta({ description: 'Bindings that were evaluated', example: 4 }),
            matched: z.int().meta({ description: 'Bindings that the member matches', example: 2 }),
            unknown: z.int().meta({
              description: 'Bindings that could not be evaluated; their roles are neither assigned nor removed',
              example: 0,
            }),
          })
          .meta({ description: 'Result of the evaluated bindings' }),
        dry_run: z.boolean().meta({ description: 'True for a dry run, which changes nothing', example: false }),
      })
      .meta({ id: 'SyncResult', description: 'What a sync of one member changed, or would change' }),
    status: 200,
    message: 'Roles synchronised',
    summary: "Sync a member's roles with the role bindings",
    description:
      'A role is assigned if the member matches one of its bindings. A role with a binding, or that an earlier sync assigned, is removed if the member matches none, all could be evaluated, and their `authority` allows it. Repeating the call changes nothing.',
    writes: true,
    errors: { NOT_FOUND: 'The user is not verified in this guild, or is not a member of it', ...platformErrors },
  }),
  syncGroup: route({
    method: 'POST',
    path: '/sync/group',
    scope: 'sync:write',
    category: 'sync_write',
    guild: 'body',
    body: z.object({
      guild_id: guildId,
      game_group_id: numberId('a group ID').meta({ description: 'Group ID on the game platform', example: 501 }),
    }),
    data: queuedJob,
    status: 202,
    message: 'Group synchronisation queued',
    summary: 'Sync the roles of all verified members for a game group',
    description:
      'Syncs the roles with a binding to this group, or with a `verified` or `unverified` binding, by all their bindings. An unfinished job of the group is returned instead.',
    writes: true,
    errors: { CONFLICT: 'The guild has too many unfinished jobs' },
  }),
  getSyncJob: route({
    method: 'GET',
    path: '/sync/jobs/:jobId',
    scope: 'sync:write',
    category: 'members_read',
    guild: 'header',
    params: z.object({ jobId: uuid.meta({ description: 'The `job_id` of the job' }) }),
    data: z
      .object({
        state: z.enum(JOB_STATES).meta({
          id: 'SyncJobState',
          description:
            '`paused`: a platform or a service is not reachable, and the job continues by itself; `failed`: it was not reachable for a day',
          example: 'running',
        }),
        total: syncJob.total,
        done: syncJob.done,
        changed: syncJob.changed,
        failed: syncJob.failed,
        errors: z
          .array(
            z.object({
              chat_id: chatId.nullable(),
              role_id: roleId.nullable(),
              code: z.string().meta({ description: 'Reason code', example: 'ROLE_ABOVE_BOT' }),
              message: z.string().meta({
                description: 'Explanation for people',
                example: "The role Harbormaster is not below the bot's highest role",
              }),
            }),
          )
          .meta({
            description:
              'The first 100 errors. Then, with `chat_id` null, `ERRORS_LEFT_OUT` with the number left out, and why the job is paused or has failed',
            example: [],
          }),
        started_at: syncJob.started_at,
        finished_at: syncJob.finished_at,
        result: previewResult.optional(),
      })
      .meta({ id: 'SyncJob', description: 'The progress of a sync of all members, or of a preview' }),
    status: 200,
    message: 'Job found',
    summary: 'Get the progress of a sync job',
    description: 'A job is deleted 30 days after its end.',
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
          .meta({ description: 'New nickname of at most 32 characters; null removes the nickname' }),
        template: optional(nicknameTemplate).meta({
          description:
            'Template with `{game_username}`, `{chat_username}` and `{rank_name}`, instead of `nickname`. The rank of a user who is not in the group is Guest',
        }),
        game_group_id: optional(numberId('a group ID')).meta({
          description: 'Group ID for `{rank_name}`; the group of the first `group_rank` binding if omitted',
        }),
      })
      .refine((body) => (body.template === undefined ? body.nickname !== undefined : body.nickname == null), {
        error: 'must hold exactly one of nickname, template',
        when: () => true,
      })
      .meta({
        alternatives: [
          { required: ['nickname'], nullable: ['nickname'], absent: ['template'] },
          { required: ['template'], absent: ['nickname'] },
        ] satisfies Alternative[],
        example: { guild_id: '900000000000000001', chat_id: '920000000000000001', template: '{game_username}' },
      }),
    data: nicknameChange,
    status: 200,
    message: 'Nickname synchronised',
    summary: "Set or remove a member's nickname",
    description: 'Sets the nickname to a text or to the result of a template.',
    writes: true,
    errors: {
      INVALID_TARGET: 'The group does not exist on the game platform',
      NOT_FOUND:
        'The chat account is not a member of this guild, or the template needs a game account and none is linked',
      NOT_APPLICABLE:
        'The nickname has more than 32 characters, the member ranks above the bot, or `game_group_id` is missing and no binding has a group',
      ...platformErrors,
    },
  }),
});
