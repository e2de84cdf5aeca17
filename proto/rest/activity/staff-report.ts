import { z } from 'zod';
import { route } from '../route.ts';
import { gameIdOut, guildId, nextCursor, page, timestamp, timestampQuery } from '../schemas.ts';
import { timeZone } from './time-zone.ts';

export const REPORT_INTERVALS = ['day', 'week'] as const;
/** The longest time that one report covers. */
export const MAX_REPORT_DAYS = 92;

const count = (description: string, example: number) => z.int().min(0).meta({ description, example });
const date = z.string().meta({
  format: 'date',
  description: 'First day of the interval in the time zone of the report',
  example: '2026-11-16',
});
const tz = z.string().meta({ description: 'Name of the time zone', example: 'UTC' });
const interval = z.enum(REPORT_INTERVALS).meta({
  id: 'StaffReportUnit',
  description: 'Length of the intervals of a report',
  example: 'day',
});

const reportInterval = z
  .object({
    date,
    starts_at: timestamp.meta({
      description: 'Start of the interval, or of the report if that is later',
      example: 1794787200,
    }),
    ends_at: timestamp.meta({
      description: 'End of the interval, or of the report if that is earlier; exclusive',
      example: 1794873600,
    }),
  })
  .meta({ id: 'StaffReportInterval', description: 'An interval of a report of staff activity' });

const reportCounts = z
  .object({
    date,
    sessions: count('Sessions that started in the interval', 2),
    seconds: count('Seconds of sessions in the interval, including idle ones', 14_400),
    idle_seconds: count('Idle seconds in the interval; those of a session are spread evenly over it', 600),
    action_count: count('Actions of all types', 5),
    actions: z.record(z.string(), z.int().min(1)).meta({
      description:
        'Actions by type: the first 32 types of a staff member and day (UTC). Further types are only in `action_count`',
      example: { kick: 3, warn: 2 },
    }),
  })
  .meta({ id: 'StaffReportCounts', description: 'What a staff member did in an interval' });

const reportMember = z
  .object({
    game_id: gameIdOut.meta({ description: 'Game account ID of the staff member', example: 7001 }),
    intervals: z
      .array(reportCounts)
      .meta({ description: 'Counts of each interval in which the staff member was active, the earliest first' }),
  })
  .meta({ id: 'StaffReportMember', description: 'The activity of a staff member by interval' });

/** The route of the report of staff activity. */
export const staffReportRows = {
  readStaffReport: route({
    operationId: 'getStaffReport',
    method: 'GET',
    path: '/guilds/:guildId/staff/report',
    scope: 'activity:read',
    category: 'activity_read',
    guild: 'path',
    params: z.object({ guildId }),
    query: z
      .object({
        ...page,
        limit: page.limit.meta({ description: 'Staff members per page; 50 if omitted' }),
        from: timestampQuery.meta({
          description: 'Start in Unix seconds, rounded down to a quarter of an hour',
          example: 1794787200,
        }),
        to: timestampQuery.meta({
          description: `End in Unix seconds, exclusive, rounded up to a quarter of an hour; at most ${MAX_REPORT_DAYS} days after \`from\``,
          example: 1794873600,
        }),
        interval: interval
          .optional()
          .meta({ description: 'Length of the intervals; `day` if omitted. Weeks begin on Monday' }),
        tz: timeZone
          .optional()
          .meta({ description: 'IANA name of the time zone in which days begin; `UTC` if omitted' }),
      })
      .refine(({ from, to }) => to > from && to - from <= MAX_REPORT_DAYS * 86_400, {
        path: ['to'],
        error: `must be after from, by at most ${MAX_REPORT_DAYS} days`,
      }),
    data: z
      .object({
        interval,
        tz,
        intervals: z.array(reportInterval).meta({ description: 'All intervals of the report, the earliest first' }),
        staff: z.array(reportMember).meta({ description: 'Staff members who were active, by game account ID' }),
        next_cursor: nextCursor,
      })
      .meta({ id: 'StaffReport', description: 'Staff activity by staff member and interval' }),
    status: 200,
    message: 'Staff report read',
    summary: "Get a report of staff members' activity",
    description:
      'Sessions over midnight are split, and counted where they started. Open sessions count up to their last heartbeat. The first and the last interval contain only what lies between `from` and `to`. A page may have fewer than `limit` staff members: the last one has no `next_cursor`.',
    writes: false,
  }),
};
