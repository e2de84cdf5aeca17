import { commandRecord, gameServer, staffAction, staffSession } from '../activity/records.ts';
import { eventType } from './event-type.ts';

export const activityEvents = {
  'session.started': eventType({
    scope: 'activity:read',
    summary: 'A staff session began',
    data: staffSession,
    persons: { game: ['game_id'] },
  }),
  'session.ended': eventType({
    scope: 'activity:read',
    summary: 'A staff session ended',
    data: staffSession,
    persons: { game: ['game_id'] },
  }),
  'staff.action': eventType({
    scope: 'activity:read',
    summary: 'A staff action was logged',
    data: staffAction,
    persons: { game: ['actor_game_id', 'target_game_id'] },
  }),
  'server.online': eventType({
    scope: 'server:read',
    summary: 'A game server came online',
    data: gameServer,
    persons: {},
  }),
  'server.offline': eventType({
    scope: 'server:read',
    summary: 'A game server went offline',
    data: gameServer,
    persons: {},
  }),
  'command.finished': eventType({
    scope: 'commands:read',
    summary: 'A command to game servers is finished',
    data: commandRecord,
    // A command about a decision names the moderator in its payload, and as the issuer by either account.
    persons: {
      game: ['target.game_id', 'issued_by', 'payload.moderator_game_id'],
      chat: ['issued_by', 'payload.moderator_chat_id'],
    },
  }),
};
