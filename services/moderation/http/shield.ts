import type { HttpHandlers } from '#kit/http/app.ts';
import type { shieldRoutes } from '#proto/rest/shield.ts';
import type { Shield } from '../domain/shield.ts';
import { ownShieldView } from './views.ts';

/** The source of entries that guilds make themselves. */
const SOURCE = 'api';

/** Returns the handlers of the REST routes in proto/rest/shield.ts. */
export function shieldHandlers(shield: Shield): HttpHandlers<typeof shieldRoutes> {
  return {
    async flagPlayer({ guildId, principal, write, params, body }) {
      const { reason, category, game_username: gameUsername = null, expires_at: expiresAt } = body;
      const entry = {
        guildId,
        gameId: params.gameId,
        gameUsername,
        reason,
        category,
        source: SOURCE,
        actor: principal.keyPrefix,
        expiresAt: expiresAt === undefined ? null : new Date(expiresAt * 1000),
      };
      return shield.flag(write, entry, ownShieldView);
    },
    async unflagPlayer({ principal, write, params }) {
      return shield.unflag(write, params.gameId, principal.keyPrefix, ({ gameId }) => ({
        removed: true,
        game_id: gameId,
      }));
    },
  };
}
