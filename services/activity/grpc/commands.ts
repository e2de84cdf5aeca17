import { z } from 'zod';
import { type Clock, unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { CommandAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { gameId, guildId, text, uuid } from '#proto/rest/schemas.ts';
import { namedServerId } from '#proto/rest/server-id.ts';
import type { Commands } from '../domain/commands.ts';
import { adminView, gameServerView, ownServerView, serverView } from '../http/views.ts';
import { countServers, listServers } from '../store/servers.ts';
import { commandFields, commandOf, commandSchema } from './activity.ts';

const MAX_TTL_SECONDS = 7 * 24 * 3600;
const MAX_PAGE = 1_000;
const DEFAULT_PAGE = 100;
/** Commands of a page: each may count the answers of 2,000 servers. */
const MAX_COMMANDS = 200;
const MAX_TIME = 99_999_999_999;

/** The issuer that servers see of what operators send. */
export const OPERATOR = 'operator';

const servers = z.discriminatedUnion(
  '$case',
  [
    z.object({ $case: z.literal('serverId'), value: namedServerId }).transform(({ value }) => ({ serverId: value })),
    z.object({ $case: z.literal('placeId'), value: gameId }).transform(({ value }) => ({ placeId: value })),
    z.object({ $case: z.literal('all'), value: z.literal(true) }).transform(() => ({ all: true as const })),
  ],
  { error: 'must be a server, a place or all' },
);

const actor = text(1, 100);
const idempotencyKey = z
  .string()
  .regex(/^[\x20-\x7e]{1,128}$/, { error: 'must be 1 to 128 printable ASCII characters' })
  .optional();

const enqueue = z.object({
  ...commandSchema,
  servers,
  ttl: z
    .int()
    .min(1)
    .max(MAX_TTL_SECONDS, { error: `must be 1 to ${MAX_TTL_SECONDS} seconds` })
    .optional(),
  idempotency_key: idempotencyKey,
  actor,
});

const limit = z.int().min(0).max(MAX_PAGE);
/** When a command was sent, in Unix milliseconds, and its place. */
const position = z.string().regex(/^(?:[0-9]{1,15}-[0-9]{1,16})?$/, { error: 'must be a next_cursor of this list' });
const serverCursor = z.union([z.literal(''), namedServerId], { error: 'must be a next_cursor of this list' });
const time = z.int().min(0).max(MAX_TIME).optional();

const list = z.object({ guild_id: guildId, limit, cursor: position.default(''), since: time });
const read = z.object({ guild_id: guildId, command_id: uuid, limit, cursor: serverCursor });
const cancel = z.object({ guild_id: guildId, command_id: uuid, actor });
const inPlace = z.object({ guild_id: guildId, place_id: gameId.optional() });
const listLive = inPlace.extend({ limit, cursor: serverCursor });

export interface CommandAdminOptions {
  commands: Commands;
  database: Queryable;
  clock: Clock;
}

/** What guildctl calls for commands and servers. */
export function commandAdminMethods(options: CommandAdminOptions): GrpcHandlers<typeof CommandAdminServiceService> {
  return { ...sendingMethods(options), ...commandListMethods(options), ...serverMethods(options) };
}

type Methods = GrpcHandlers<typeof CommandAdminServiceService>;

function sendingMethods({ commands }: CommandAdminOptions): Pick<Methods, 'enqueueCommands' | 'cancelCommand'> {
  return {
    async enqueueCommands(message) {
      const { servers: to, ttlSeconds: ttl, idempotencyKey: key } = message;
      const fields = { ...commandFields(message), servers: to, ttl, idempotency_key: key, actor: message.actor };
      const asked = checked(enqueue, fields, 'request');
      const request = {
        guildId: asked.guild_id,
        servers: asked.servers,
        command: commandOf(asked, OPERATOR),
        ttlSeconds: asked.ttl,
        idempotencyKey: asked.idempotency_key,
      };
      const sent = await commands.enqueue(request, asked.actor);
      return {
        commandIds: [sent.commandId],
        fullServers: 0,
        servers: sent.servers,
        expiresAt: unixSeconds(sent.expiresAt),
      };
    },
    async cancelCommand({ guildId: guild, commandId, actor: who }) {
      const asked = checked(cancel, { guild_id: guild, command_id: commandId, actor: who }, 'request');
      return { cancelled: await commands.cancel(asked.guild_id, asked.command_id, asked.actor) };
    },
  };
}

function commandListMethods({ commands, clock }: CommandAdminOptions): Pick<Methods, 'listCommands' | 'readCommand'> {
  return {
    async listCommands({ guildId: guild, ...message }) {
      const asked = checked(list, { guild_id: guild, ...message }, 'request');
      const size = Math.min(asked.limit || DEFAULT_PAGE, MAX_COMMANDS);
      const found = await commands.list(asked.guild_id, {
        before: positionOf(asked.cursor),
        since: asked.since === undefined ? undefined : new Date(asked.since * 1000),
        limit: size,
      });
      const last = found.length === size ? found.at(-1) : undefined;
      const nextCursor = last ? `${last.createdAt.getTime()}-${last.place}` : '';
      return { commands: found.map((command) => adminView(command, clock.now())), nextCursor };
    },
    async readCommand({ guildId: guild, commandId, ...message }) {
      const asked = checked(read, { guild_id: guild, command_id: commandId, ...message }, 'request');
      const command = await commands.read(asked.guild_id, asked.command_id);
      const view = { command: adminView(command, clock.now()) };
      if (command.serverId !== '') return { ...view, servers: [ownServerView(command, clock.now())], nextCursor: '' };
      const size = asked.limit || DEFAULT_PAGE;
      const found = await commands.serversOf(asked.guild_id, asked.command_id, asked.cursor, size);
      const nextCursor = found.length === size ? (found.at(-1)?.serverId ?? '') : '';
      return { ...view, servers: found.map((server) => serverView(server, command, clock.now())), nextCursor };
    },
  };
}

function positionOf(cursor: string): { createdAt: Date; place: number } | undefined {
  const [milliseconds, place] = cursor.split('-').map(Number);
  return place === undefined ? undefined : { createdAt: new Date(Number(milliseconds)), place };
}

function serverMethods({ database, clock }: CommandAdminOptions): Pick<Methods, 'listServers' | 'countServers'> {
  const now = () => new Date(clock.now());
  return {
    async listServers({ guildId: guild, placeId, ...message }) {
      const asked = checked(listLive, { guild_id: guild, place_id: placeId, ...message }, 'request');
      const size = asked.limit || DEFAULT_PAGE;
      const page = { placeId: asked.place_id, after: asked.cursor, limit: size };
      const found = await listServers(database, asked.guild_id, page, now());
      const nextCursor = found.length === size ? (found.at(-1)?.serverId ?? '') : '';
      return { servers: found.map(gameServerView), nextCursor };
    },
    async countServers({ guildId: guild, placeId }) {
      const asked = checked(inPlace, { guild_id: guild, place_id: placeId }, 'request');
      return { servers: await countServers(database, asked.guild_id, asked.place_id, now()) };
    },
  };
}
