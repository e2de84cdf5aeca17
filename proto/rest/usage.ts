import { z } from 'zod';
import { CATEGORIES, type Category } from './limits.ts';
import { RETAINED_KINDS, type RetainedKind } from './retained-kinds.ts';
import { defineRoutes, route } from './route.ts';
import { guildId } from './schemas.ts';

/** The number of days (UTC), including today, for which requests are returned by day. */
export const USAGE_DAYS = 30;

const category = z.enum(Object.keys(CATEGORIES) as [Category, ...Category[]]).meta({
  id: 'RateLimitCategory',
  description: 'Rate limit category',
  example: 'lookup',
});

const count = z.int().min(0);

const requestCounts = z
  .object({
    category,
    allowed: count.meta({ description: 'Requests that were passed on to a service', example: 5120 }),
    rejected: count.meta({
      description: 'Requests rejected with 429 by a rate limit, or with 503 because too many were in flight',
      example: 12,
    }),
  })
  .meta({ id: 'RequestCounts', description: 'Requests of one rate limit category' });

const dailyRequests = z
  .object({
    day: z.int().meta({ description: 'Start of the day (UTC) in Unix seconds', example: 1_767_225_600 }),
    categories: z
      .array(requestCounts)
      .meta({ description: 'Requests by category; categories without requests are left out' }),
  })
  .meta({ id: 'DailyRequests', description: 'Requests of one day' });

const retainedRows = z
  .object({
    kind: z
      .enum(Object.keys(RETAINED_KINDS) as [RetainedKind, ...RetainedKind[]])
      .meta({ id: 'RetainedKind', description: 'What the rows contain', example: 'links' }),
    rows: count.meta({ description: 'Rows', example: 1893 }),
  })
  .meta({ id: 'RetainedRows', description: 'Rows of one kind' });

const quotaUse = z
  .object({
    quota: z.enum(['live_servers', 'shield_entries', 'staff_actions_per_day', 'webhooks']).meta({
      id: 'QuotaName',
      description: 'Name of the quota, as in `details.quota` of QUOTA_EXCEEDED',
      example: 'webhooks',
    }),
    limit: count.meta({ description: 'Maximum of the guild', example: 25 }),
    used: count.meta({ description: 'Current usage', example: 3 }),
  })
  .meta({ id: 'QuotaUse', description: 'A quota of the guild and its usage' });

/** The route with which a guild reads its own usage. */
export const usageRoutes = defineRoutes('auth', {
  getUsage: route({
    method: 'GET',
    path: '/guilds/:guildId/usage',
    scope: null,
    category: 'config_read',
    guild: 'path',
    params: z.object({ guildId }),
    data: z.object({
      requests: z
        .object({
          last_hour: z.array(requestCounts).meta({
            description: 'Requests of the last 60 minutes by category; categories without requests are left out',
          }),
          days: z
            .array(dailyRequests)
            .meta({ description: `Days with requests among the last ${USAGE_DAYS}, newest first` }),
        })
        .meta({ id: 'RequestUsage', description: 'Requests of all keys of the guild' }),
      live_servers: count.meta({ description: 'Live game servers', example: 42 }),
      rows: z
        .object({
          total: count.meta({ description: 'All rows', example: 48_210 }),
          kinds: z.array(retainedRows).meta({ description: 'Rows by kind, all kinds' }),
        })
        .meta({
          id: 'RowUsage',
          description:
            'Stored rows. A kind with tens of thousands of rows is accurate to within a tenth, others are exact.',
        }),
      quotas: z.array(quotaUse).meta({ description: 'Quotas of the guild, by name' }),
    }),
    status: 200,
    message: 'Usage read',
    summary: "Get the guild's usage and quotas",
    description:
      'Requests appear a few seconds after their response. Those that are rejected with 401 or 403, and those without a category, are not counted.',
    writes: false,
  }),
});
