import { z } from 'zod';
import { route } from '../route.ts';
import { gameId, gameIdOut, guildId, nextCursor, page, text, timestamp, timestampQuery } from '../schemas.ts';
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

/** The maximum number of days that a report covers. */
export const MAX_REPORT_DAYS = 92;

const TIME_ZONE = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;

function isTimeZone(name: string): boolean {
  if (!TIME_ZONE.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const total = (description: string, example: number) => z.int().min(0).meta({ description, example });

const reportedInterval = z
  .object({
    start: timestamp.meta({ description: 'Start of the interval' }),
    end: timestamp.meta({
      description: 'End of the interval, which is the start of the next one',
      example: 1790086400,
    }),
    sessions: total('Number of sessions that started in the interval', 2),
    seconds: total('Seconds of sessions within the interval', 7200),
    idle_seconds: total('Idle seconds within the interval; those of a session are spread evenly over it', 300),
    actions: z.record(z.string(), z.int()).meta({
      description: 'Number of actions by type, for the 20 most frequent types of the page',
      example: { kick: 3 },
    }),
    other_actions: total('Number of actions of other types', 0),
  })
  .meta({ id: 'StaffReportInterval', description: 'What a staff member did in a day or week' });

const reportedStaff = z
  .object({
    game_id: gameIdOut,
    intervals: z
      .array(reportedInterval)
      .meta({ description: 'Days or weeks, oldest first; those without sessions and actions are left out' }),
  })
  .meta({ id: 'StaffReportMember', description: 'What a staff member did, by day or week' });

const reportQuery = z
  .object({
    ...page,
    from: timestampQuery.meta({ description: 'A time in the first day or week, in Unix seconds' }),
    to: timestampQuery.meta({
      description: `A time in the last day or week, in Unix seconds; at most ${MAX_REPORT_DAYS} days after \`from\``,
      example: 1790604800,
    }),
    interval: z
      .enum(['day', 'week'], { error: 'must be day or week' })
      .default('day')
      .meta({ description: 'Length of the intervals; a week begins on Monday', example: 'day' }),
    tz: z
      .string()
      .refine(isTimeZone, { error: 'must be the name of an IANA time zone' })
      .default('UTC')
      .meta({ description: 'IANA time zone in which days begin', example: 'Europe/Berlin', pattern: TIME_ZONE.source }),
  })
  .refine(({ from: first, to: last }) => last >= first && last - first <= MAX_REPORT_DAYS * 86_400, {
    path: ['to'],
    error: `must not be before from, and at most ${MAX_REPORT_DAYS} days after it`,
    // Reported together with the other faults, if both times are valid.
    when: ({ value }) => timesOnly.safeParse(value).success,
  });

const timesOnly = z.object({ from: z.number(), to: z.number() });

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
          type: 'boolean',
          description: 'Returns only open sessions (`true`) or only ended ones (`false`)',
          example: true,
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
  reportStaff: route({
    ...reads,
    path: '/guilds/:guildId/staff/report',
    params: z.object({ guildId }),
    query: reportQuery,
    data: z.object({
      interval: z.enum(['day', 'week']).meta({ description: 'Length of the intervals', example: 'day' }),
      tz: z.string().meta({ description: 'Time zone in which days begin', example: 'Europe/Berlin' }),
      from: timestamp.meta({ description: 'Start of the first day or week of the report' }),
      to: timestamp.meta({ description: 'End of the last day or week of the report', example: 1790604800 }),
      staff: z.array(reportedStaff).meta({ description: 'Staff members with sessions or actions, ordered by game ID' }),
      next_cursor: nextCursor,
    }),
    status: 200,
    message: 'Staff report read',
    summary: 'Get a staff report',
    description:
      'Sessions and actions of each staff member by day or week. A session over midnight is split between both days. A session is added when it ends, with at most its first seven days, so open sessions are not part of the report. An action with a time in the future counts at the time at which it was logged. A page may have fewer staff members than `limit`, or none, before the last one.',
  }),
};
