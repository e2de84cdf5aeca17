import { z } from 'zod';
import { route } from '../route.ts';
import { gameId, guildId, nextCursor, page, text, timestampQuery } from '../schemas.ts';
import { staffAction, staffSession } from './records.ts';

const reads = {
  method: 'GET',
  scope: 'activity:read',
  category: 'activity_read',
  guild: 'path',
  writes: false,
} as const;

const from = (what: string) =>
  timestampQuery.optional().meta({ description: `Returns only ${what} at or after this time, in Unix seconds` });
const to = (what: string) =>
  timestampQuery.optional().meta({ description: `Returns only ${what} at or before this time, in Unix seconds` });

/** Routes that read what staff members did in the game. */
export const staffReadRows = {
  listSessions: route({
    ...reads,
    path: '/guilds/:guildId/staff/sessions',
    params: z.object({ guildId }),
    query: z.object({
      ...page,
      game_id: gameId.optional().meta({ description: 'Returns only sessions of this staff member' }),
      from: from('sessions that started'),
      to: to('sessions that started'),
      open: z
        .enum(['true', 'false'], { error: 'must be true or false' })
        .transform((value) => value === 'true')
        .pipe(z.boolean())
        .optional()
        .meta({
          description: 'Returns only open sessions (`true`) or only ended ones (`false`)',
          example: 'true',
        }),
    }),
    data: z.object({ sessions: z.array(staffSession), next_cursor: nextCursor }),
    status: 200,
    message: 'Staff sessions listed',
    summary: 'List staff sessions',
    description: 'Staff sessions, those that started last first. They are stored for 400 days.',
  }),
  listActions: route({
    ...reads,
    path: '/guilds/:guildId/staff/actions',
    params: z.object({ guildId }),
    query: z.object({
      ...page,
      actor_game_id: gameId.optional().meta({ description: 'Returns only actions of this staff member' }),
      target_game_id: gameId
        .optional()
        .meta({ description: 'Returns only actions that concern this player', example: 7004 }),
      action_type: text(1, 64).optional().meta({ description: 'Returns only actions of this type', example: 'kick' }),
      from: from('actions that occurred'),
      to: to('actions that occurred'),
    }),
    data: z.object({ actions: z.array(staffAction), next_cursor: nextCursor }),
    status: 200,
    message: 'Staff actions listed',
    summary: 'List staff actions',
    description: 'Logged staff actions, those that occurred last first. They are stored for 400 days.',
  }),
};
