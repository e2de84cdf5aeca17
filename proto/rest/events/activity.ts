import { z } from 'zod';
import { eventType } from './event-type.ts';

export const activityEvents = {
  'session.started': eventType({
    scope: 'activity:read',
    summary: 'A staff session began',
    data: z.looseObject({}),
    persons: { game: ['game_id'], chat: ['chat_id'] },
  }),
  'session.ended': eventType({
    scope: 'activity:read',
    summary: 'A staff session ended',
    data: z.looseObject({}),
    persons: { game: ['game_id'], chat: ['chat_id'] },
  }),
  'staff.action': eventType({
    scope: 'activity:read',
    summary: 'A staff action was logged',
    data: z.looseObject({}),
    persons: { game: ['game_id'], chat: ['chat_id'] },
  }),
  'server.online': eventType({
    scope: 'server:read',
    summary: 'A game server came online',
    data: z.looseObject({}),
    persons: {},
  }),
  'server.offline': eventType({
    scope: 'server:read',
    summary: 'A game server went offline',
    data: z.looseObject({}),
    persons: {},
  }),
  'command.finished': eventType({
    scope: 'commands:read',
    summary: 'A command to game servers is finished',
    data: z.looseObject({}),
    persons: { game: ['target_game_id'] },
  }),
};
