import { z } from 'zod';
import { chatId, gameIdOut } from '../schemas.ts';
import { eventType } from './event-type.ts';

export const personEvents = {
  'person.erased': eventType({
    scope: 'moderation:read',
    summary: 'The data of a person was erased',
    data: z
      .object({
        chat_id: chatId.nullable().meta({ description: 'The erased chat account; null if none was given' }),
        game_id: gameIdOut.nullable().meta({ description: 'The erased game account; null if none was given' }),
      })
      .meta({ id: 'ErasedPerson', description: 'The accounts whose data mirrors must erase too' }),
    // The event itself stays: a mirror that reads it later must still learn whom to erase.
    persons: {},
  }),
};
