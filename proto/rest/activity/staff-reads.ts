import { z } from 'zod';
import { route } from '../route.ts';
import { gameId, guildId, nextCursor, page, text, timeRange } from '../schemas.ts';
import { staffAction, staffSession } from './records.ts';

const reads = {
  method: 'GET',
  scope: 'activity:read',
  category: 'activity_read',
  guild: 'path',
  writes: false,
} as const;

/** Routes that read what staff members did in the game. */
export const staffReadRows = {
  listSessions: route({
    ...reads,
    path: '/guilds/:guildId/staff/sessions',
    params: z.object({ guildId }),
    query: z.object({
      ...page,
      game_id: gameId.optional().meta({ description: 'Only sessions of this staff member' }),
      ...timeRange,
      open: z
        .enum(['true', 'false'], { error: 'must be true or false' })
        .transform((value) => value === 'true')
        .pipe(z.boolean())
        .optional()
        .meta({
          description: 'Only open sessions (`true`) or only ended ones (`false`)',
          example: 'true',
        }),
    }),
    data: z.object({ sessions: z.array(staffSession), next_cursor: nextCursor }),
    status: 200,
    message: 'Staff sessions listed',
    summary: 'List staff sessions',
    description: 'Those that started last first, in a range of their start. They are stored for 400 days.',
  }),
  listActions: route({
    ...reads,
    path: '/guilds/:guildId/staff/actions',
    params: z.object({ guildId }),
    query: z.object({
      ...page,
      actor_game_id: gameId.optional().meta({ description: 'Only actions of this staff member' }),
      target_game_id: gameId.optional().meta({ description: 'Only actions that concern this player', example: 7004 }),
      action_type: text(1, 64).optional().meta({ description: 'Only actions of this type', example: 'kick' }),
      ...timeRange,
    }),
    data: z.object({ actions: z.array(staffAction), next_cursor: nextCursor }),
    status: 200,
    message: 'Staff actions listed',
    summary: 'List staff actions',
    description: 'The newest first. They are stored for 400 days.',
  }),
};
