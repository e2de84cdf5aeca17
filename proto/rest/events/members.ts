import { z } from 'zod';
import { chatId, gameIdOut, uuidOut } from '../schemas.ts';
import { nicknameChange, roleFailure, syncedRoles, syncJob } from '../sync.ts';
import { eventType } from './event-type.ts';

const rolesChanged = z
  .object({
    chat_id: chatId,
    game_id: gameIdOut.nullable().meta({ description: 'Game account ID; null if the member is not linked any more' }),
    ...syncedRoles,
    reason: z.enum(['bindings', 'unlinked']).meta({
      id: 'RolesChangedReason',
      description: 'Why: `bindings`: the roles follow the bindings; `unlinked`: the member is not linked any more',
      example: 'bindings',
    }),
  })
  .meta({ id: 'RolesChanged', description: 'A synchronisation that changed roles of a member, or failed to' });

const member = z.object({ chat_id: chatId }).meta({ id: 'MemberEvent', description: 'A member of the guild' });

const memberRoles = z
  .object({ chat_id: chatId, added: syncedRoles.added, removed: syncedRoles.removed })
  .meta({ id: 'MemberRolesEvent', description: 'A change of roles on the chat platform' });

const MEMBER = { scope: 'members:read', persons: { chat: ['chat_id'] } } as const;

const syncJobFinished = z
  .object({
    job_id: uuidOut.meta({ description: 'ID of the job, for `GET /sync/jobs/{jobId}`, which also lists its errors' }),
    game_group_id: z.int().min(1).meta({ description: 'Group ID on the game platform', example: 501 }),
    ...syncJob,
    state: z.enum(['done', 'failed']).meta({ description: '`failed`: see `cause`', example: 'done' }),
    cause: roleFailure
      .pick({ message: true })
      .extend({ code: z.string().meta({ description: 'Reason code; `CANCELLED` if an operator cancelled the job' }) })
      .nullable()
      .meta({ description: 'Why the job failed; null if it did not', example: null }),
  })
  .meta({ id: 'SyncJobFinished', description: 'The end of a synchronisation of all members' });

export const memberEvents = {
  'roles.changed': eventType({
    scope: 'members:read',
    summary: 'Chat roles of a member were added or removed',
    data: rolesChanged,
    persons: { chat: ['chat_id'], game: ['game_id'] },
  }),
  'nickname.changed': eventType({
    scope: 'members:read',
    summary: 'The nickname of a member was changed',
    data: nicknameChange,
    persons: { chat: ['chat_id'] },
  }),
  'member.joined': eventType({ ...MEMBER, summary: 'Somebody joined the guild', data: member }),
  'member.left': eventType({ ...MEMBER, summary: 'A member left the guild', data: member }),
  'member.roles_changed': eventType({
    ...MEMBER,
    summary: 'Roles of a member were changed on the chat platform',
    data: memberRoles,
  }),
  'sync.job.finished': eventType({
    scope: 'members:read',
    summary: 'A sync of all members ended',
    data: syncJobFinished,
    persons: {},
  }),
};
