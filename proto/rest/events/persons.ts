import { z } from 'zod';
import { eventType } from './event-type.ts';

export const personEvents = {
  'person.erased': eventType({
    scope: 'moderation:read',
    summary: 'The data of a person was erased',
    data: z.looseObject({}),
    persons: { chat: ['chat_id'], game: ['game_id'] },
  }),
};
