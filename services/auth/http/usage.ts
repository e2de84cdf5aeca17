import { unixSeconds } from '#kit/clock.ts';
import type { HttpHandlers } from '#kit/http/app.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Category } from '#proto/rest/limits.ts';
import type { usageRoutes } from '#proto/rest/usage.ts';
import type { Usage } from '../domain/usage.ts';
import type { RequestCounts } from '../store/requests.ts';

/** Returns the handler of the REST route in proto/rest/usage.ts. */
export function usageHandlers(usage: Pick<Usage, 'of'>): HttpHandlers<typeof usageRoutes> {
  return {
    async getUsage({ guildId }) {
      const { requests, liveServers, rows, quotas } = await usage.of(guildId);
      return ok({
        requests: {
          last_hour: requests.lastHour.map(requestsView),
          days: requests.days.map(({ day, categories }) => ({
            day: unixSeconds(day.getTime()),
            categories: categories.map(requestsView),
          })),
        },
        live_servers: liveServers,
        rows: { total: rows.reduce((total, { rows: count }) => total + count, 0), kinds: rows },
        quotas,
      });
    },
  };
}

/** The domain returns only categories of the route table. */
const requestsView = ({ category, allowed, rejected }: RequestCounts) => ({
  category: category as Category,
  allowed,
  rejected,
});
