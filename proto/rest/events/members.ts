import { z } from 'zod';
import { eventType } from './event-type.ts';

export const memberEvents = {
  'roles.changed': eventType({
    scope: 'members:read',
    summary: 'Chat roles of a member were added or removed',
    data: z.looseObject({}),
    persons: { chat: ['chat_id'], game: ['game_id'] },
  }),
  'nickname.changed': eventType({
    scope: 'members:read',
    summary: 'The nickname of a member was changed',
    data: z.looseObject({}),
    persons: { chat: ['chat_id'], game: ['game_id'] },
  }),
  'sync.job.finished': eventType({
    scope: 'members:read',
    summary: 'A sync of all members ended',
    data: z.looseObject({}),
    persons: {},
  }),
};
