import type { Clock } from '#kit/clock.ts';
import type { HttpHandlers } from '#kit/http/app.ts';
import { type CursorScope, decodeCursor, encodeCursor, NO_CURSOR } from '#kit/http/cursor.ts';
import { ok } from '#kit/http/envelope.ts';
import { positionCodec } from '#kit/http/page-position.ts';
import type { activityRoutes } from '#proto/rest/activity.ts';
import type { CommandReads } from '../domain/command-reads.ts';
import type { Recipients } from '../domain/command-request.ts';
import type { Commands } from '../domain/commands.ts';
import { requireServerId } from './server-id.ts';
import { commandRecordView, commandServerView } from './views.ts';

type Handlers = HttpHandlers<typeof activityRoutes>;
type CommandRoutes = 'sendCommand' | 'listCommands' | 'getCommand' | 'cancelCommand';

const NOT_A_POSITION = { path: 'query.cursor', message: NO_CURSOR };
/** The position in the list of commands: the time in Unix milliseconds and the sequence number of the last one. */
const commandPositions = positionCodec({ at: /[0-9]{1,15}/, sequence: /[0-9]{1,16}/ }, NOT_A_POSITION);
/** The position in the list of the servers of a command: the ID of the last one. */
const serverPositions = positionCodec({ id: /[A-Za-z0-9._:-]{1,64}/ }, NOT_A_POSITION);

export interface CommandHandlerOptions {
  commands: Commands;
  commandReads: CommandReads;
  clock: Clock;
}

/** The handlers of the routes in proto/rest/activity/commands.ts. */
export function commandHandlers({
  commands,
  commandReads,
  clock,
}: CommandHandlerOptions): Pick<Handlers, CommandRoutes> {
  const time = () => new Date(clock.now());
  return {
    async sendCommand({ guildId, principal, write, body }) {
      const { type, target, payload = {}, ttl_seconds: ttlSeconds } = body;
      const newTarget = target && { gameId: target.game_id, gameUsername: target.game_username };
      const command = { type, target: newTarget, payload, issuedBy: principal.keyPrefix };
      const request = { guildId, recipients: recipientsOf(body), command, ttlSeconds, idempotencyKey: undefined };
      return commands.send(write, request, principal.keyPrefix);
    },
    async listCommands({ guildId, query: { limit, cursor, state } }) {
      const scope = { route: 'commands', guildId, filters: { state } };
      const position = cursor === undefined ? undefined : commandPositions.read(decodeCursor(scope, cursor));
      const before = position && { createdAt: new Date(Number(position.at)), sequence: Number(position.sequence) };
      const now = time();
      const found = await commandReads.list(guildId, { before, since: undefined, state, limit: limit + 1 });
      const page = pageOf(found, limit, scope, ({ createdAt, sequence }) =>
        commandPositions.write({ at: createdAt.getTime(), sequence }),
      );
      return ok({ commands: page.rows.map((row) => commandRecordView(row, now)), next_cursor: page.nextCursor });
    },
    async getCommand({ guildId, params: { commandId }, query: { limit, cursor } }) {
      const scope = { route: 'servers of a command', guildId, filters: { commandId } };
      const after = cursor === undefined ? '' : serverPositions.read(decodeCursor(scope, cursor)).id;
      const now = time();
      const { command, servers } = await commandReads.readWithServers(guildId, commandId, { after, limit: limit + 1 });
      const page = pageOf(servers, limit, scope, ({ serverId }) => serverPositions.write({ id: serverId }));
      return ok({
        ...commandRecordView(command, now),
        servers: page.rows.map((server) => commandServerView(server, command, now)),
        next_cursor: page.nextCursor,
      });
    },
    cancelCommand: ({ principal, write, params }) =>
      commands.cancelRequested(write, params.commandId, principal.keyPrefix),
  };
}

interface RecipientFields {
  server_id?: string | undefined;
  place_id?: number | undefined;
}

/** Returns who receives a command: the body has exactly one of server_id, place_id and `all: true`. */
function recipientsOf({ server_id: serverId, place_id: placeId }: RecipientFields): Recipients {
  if (serverId !== undefined) return { serverId: requireServerId(serverId) };
  return placeId === undefined ? { all: true } : { placeId };
}

/** Returns the first `limit` rows, and the cursor of the next page if there are more. */
function pageOf<Row>(found: readonly Row[], limit: number, scope: CursorScope, positionOf: (row: Row) => string) {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, nextCursor: last === undefined ? null : encodeCursor(scope, positionOf(last)) };
}
