import type { HttpHandlers } from '#kit/http/app.ts';
import { ok } from '#kit/http/envelope.ts';
import type { guildStateRoutes } from '#proto/rest/guild-state.ts';
import type { GuildState } from '../domain/guild-state.ts';

/** Returns the handlers of the REST routes in proto/rest/guild-state.ts. */
export function guildStateHandlers(
  state: Pick<GuildState, 'checks' | 'overview'>,
): HttpHandlers<typeof guildStateRoutes> {
  return {
    async getDoctor({ guildId }) {
      const checks = await state.checks(guildId);
      return ok({
        checks: checks.map(({ name, isOk, message, fix }) => ({ name, ok: isOk, message, fix: fix || null })),
      });
    },
    async getOverview({ guildId }) {
      const { counts, minimums, omitted } = await state.overview(guildId);
      return ok({ counts, minimums, omitted });
    },
  };
}
