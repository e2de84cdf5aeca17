import { z } from 'zod';
import { eventType } from './event-type.ts';

export const moderationEvents = {
  'ban.created': eventType({
    scope: 'moderation:read',
    summary: 'A player was banned',
    data: z.looseObject({}),
    persons: { game: ['game_id', 'moderator_game_id'], chat: ['moderator_chat_id'] },
  }),
  'ban.lifted': eventType({
    scope: 'moderation:read',
    summary: 'A ban was lifted before its end',
    data: z.looseObject({}),
    persons: { game: ['game_id', 'moderator_game_id'], chat: ['moderator_chat_id'] },
  }),
  'ban.expired': eventType({
    scope: 'moderation:read',
    summary: 'A ban ended',
    data: z.looseObject({}),
    persons: { game: ['game_id', 'moderator_game_id'], chat: ['moderator_chat_id'] },
  }),
  'mute.created': eventType({
    scope: 'moderation:read',
    summary: 'A player was muted',
    data: z.looseObject({}),
    persons: { game: ['game_id', 'moderator_game_id'], chat: ['moderator_chat_id'] },
  }),
  'mute.lifted': eventType({
    scope: 'moderation:read',
    summary: 'A mute was lifted before its end',
    data: z.looseObject({}),
    persons: { game: ['game_id', 'moderator_game_id'], chat: ['moderator_chat_id'] },
  }),
  'mute.expired': eventType({
    scope: 'moderation:read',
    summary: 'A mute ended',
    data: z.looseObject({}),
    persons: { game: ['game_id', 'moderator_game_id'], chat: ['moderator_chat_id'] },
  }),
  'shield.added': eventType({
    scope: 'moderation:read',
    summary: 'A player was put on the flagged list of the guild',
    data: z.looseObject({}),
    persons: { game: ['game_id'] },
  }),
  'shield.removed': eventType({
    scope: 'moderation:read',
    summary: 'A player was taken off the flagged list of the guild',
    data: z.looseObject({}),
    persons: { game: ['game_id'] },
  }),
};
