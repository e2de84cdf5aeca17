import { z } from 'zod';
import { eventType } from './event-type.ts';

export const linkEvents = {
  'link.created': eventType({
    scope: 'members:read',
    summary: 'A chat account was linked with a game account',
    data: z.looseObject({}),
    persons: { chat: ['chat_id'], game: ['game_id'] },
  }),
  'link.removed': eventType({
    scope: 'members:read',
    summary: 'A link was removed',
    data: z.looseObject({}),
    persons: { chat: ['chat_id'], game: ['game_id'] },
  }),
};
