import type { HttpHandlers } from '#kit/http/app.ts';
import { decodeCursor, encodeCursor, NO_CURSOR } from '#kit/http/cursor.ts';
import { ok } from '#kit/http/envelope.ts';
import { positionCodec } from '#kit/http/page-position.ts';
import type { activityRoutes } from '#proto/rest/activity.ts';
import { SERVER_ID_CHARACTERS } from '#proto/rest/server-id.ts';
import type { LiveServers } from '../domain/live-servers.ts';
import { serverView, serverWithPlayersView } from './views.ts';

type Handlers = HttpHandlers<typeof activityRoutes>;

/** The position in the cursor of the list of live servers: the ID of the last one. */
const positions = positionCodec({ serverId: SERVER_ID_CHARACTERS }, { path: 'query.cursor', message: NO_CURSOR });

/** Returns the handlers of the routes that read game servers. */
export function serverReadHandlers(
  liveServers: LiveServers,
): Pick<Handlers, 'listServers' | 'getServer' | 'findPlayerServer'> {
  return {
    async listServers({ guildId, query }) {
      const { limit, cursor, place_id: placeId } = query;
      const scope = { route: 'servers', guildId, filters: { placeId } };
      const after = cursor === undefined ? '' : positions.read(decodeCursor(scope, cursor)).serverId;
      const { servers, next } = await liveServers.list(guildId, { placeId, after, limit });
      return ok({
        servers: servers.map(serverView),
        next_cursor: next === undefined ? null : encodeCursor(scope, positions.write({ serverId: next })),
      });
    },
    async getServer({ guildId, params }) {
      return ok(serverWithPlayersView(await liveServers.get(guildId, params.serverId)));
    },
    async findPlayerServer({ guildId, params }) {
      const server = await liveServers.ofPlayer(guildId, params.gameId);
      return ok({ server: server ? serverView(server) : null });
    },
  };
}
