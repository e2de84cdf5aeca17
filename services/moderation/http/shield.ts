import type { HttpHandlers } from '#kit/http/app.ts';
import { decodeCursor, encodeCursor, NO_CURSOR } from '#kit/http/cursor.ts';
import { ok } from '#kit/http/envelope.ts';
import { positionCodec } from '#kit/http/page-position.ts';
import type { shieldRoutes } from '#proto/rest/shield.ts';
import type { Shield } from '../domain/shield.ts';
import { ownShieldView } from './views.ts';

/** The source of entries that guilds make themselves. */
const SOURCE = 'api';

const positions = positionCodec({ gameId: /[1-9][0-9]{0,15}/ }, { path: 'query.cursor', message: NO_CURSOR });

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
    async listFlags({ guildId, query: { limit, cursor } }) {
      const scope = { route: 'flags', guildId };
      const after = cursor === undefined ? 0 : Number(positions.read(decodeCursor(scope, cursor)).gameId);
      const entries = await shield.listUnexpired(guildId, limit + 1, after);
      const rows = entries.slice(0, limit);
      const last = entries.length > limit ? rows.at(-1) : undefined;
      const next = last ? encodeCursor(scope, positions.write({ gameId: last.gameId })) : null;
      return ok({ flags: rows.map(ownShieldView), next_cursor: next });
    },
  };
}
