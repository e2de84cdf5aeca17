import { z } from 'zod';
import { type Clock, unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { currentOperator } from '#kit/grpc/operators.ts';
import { checked } from '#kit/http/validate.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { CommandAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { MAX_TTL_SECONDS } from '#proto/rest/activity/commands.ts';
import { gameId, guildId, text, uuid } from '#proto/rest/schemas.ts';
import { namedServerId } from '#proto/rest/server-id.ts';
import type { CommandReads } from '../domain/command-reads.ts';
import type { Commands } from '../domain/commands.ts';
import { countServers, listServers } from '../store/servers.ts';
import { commandFields, commandOf, commandSchemas, MAX_TIMESTAMP } from './command-message.ts';
import { commandMessage, commandServerMessage, gameServerMessage } from './views.ts';

const MAX_PAGE_SIZE = 1_000;
const DEFAULT_PAGE_SIZE = 100;
/**
 * The maximum number of commands in a page. Lower than in other lists, because the query counts the acknowledgements of
 * up to 2,000 servers for each command.
 */
const MAX_COMMAND_PAGE_SIZE = 200;

/** The issuer that game servers see in commands which operators sent. */
export const OPERATOR = 'operator';

const recipients = z.discriminatedUnion(
  '$case',
  [
    z.object({ $case: z.literal('serverId'), value: namedServerId }).transform(({ value }) => ({ serverId: value })),
    z.object({ $case: z.literal('placeId'), value: gameId }).transform(({ value }) => ({ placeId: value })),
    z.object({ $case: z.literal('all'), value: z.literal(true) }).transform(() => ({ all: true as const })),
  ],
  { error: 'must be a server, a place or all' },
);

/**
 * The operator's note for the audit, which the auth service reads from the request. The log contains the name of the
 * authenticated operator instead.
 */
const actor = text(1, 100);
const idempotencyKey = z
  .string()
  .regex(/^[\x20-\x7e]{1,128}$/, { error: 'must be 1 to 128 printable ASCII characters' })
  .optional();

const enqueue = z.object({
  ...commandSchemas,
  servers: recipients,
  ttl: z
    .int()
    .min(1)
    .max(MAX_TTL_SECONDS, { error: `must be 1 to ${MAX_TTL_SECONDS} seconds` })
    .optional(),
  idempotency_key: idempotencyKey,
  actor,
});

const limit = z.int().min(0).max(MAX_PAGE_SIZE);
/**
 * The cursor of the list of commands: the time at which a command was sent, in Unix milliseconds, and its sequence
 * number.
 */
const commandCursor = z
  .string()
  .regex(/^(?:[0-9]{1,15}-[0-9]{1,16})?$/, { error: 'must be a next_cursor of this list' });
const serverCursor = z.union([z.literal(''), namedServerId], { error: 'must be a next_cursor of this list' });

const list = z.object({
  guild_id: guildId,
  limit,
  cursor: commandCursor.default(''),
  since: z.int().min(0).max(MAX_TIMESTAMP).optional(),
});
const read = z.object({ guild_id: guildId, command_id: uuid, limit, cursor: serverCursor });
const cancel = z.object({ guild_id: guildId, command_id: uuid, actor });
const serverFilter = z.object({ guild_id: guildId, place_id: gameId.optional() });
const serverPage = serverFilter.extend({ limit, cursor: serverCursor });

export interface CommandAdminOptions {
  commands: Commands;
  commandReads: CommandReads;
  database: Queryable;
  clock: Clock;
}

/** The methods of the gRPC service guild.activity.v1.CommandAdminService, which guildctl calls. */
export function commandAdminMethods(options: CommandAdminOptions): GrpcHandlers<typeof CommandAdminServiceService> {
  return { ...writeMethods(options), ...readMethods(options), ...serverMethods(options) };
}

type Methods = GrpcHandlers<typeof CommandAdminServiceService>;

function writeMethods({ commands }: CommandAdminOptions): Pick<Methods, 'enqueueCommands' | 'cancelCommand'> {
  return {
    async enqueueCommands(message) {
      const { servers, ttlSeconds, idempotencyKey: key } = message;
      const fields = {
        ...commandFields(message),
        servers,
        ttl: ttlSeconds,
        idempotency_key: key,
        actor: message.actor,
      };
      const request = checked(enqueue, fields, 'request');
      const command = {
        guildId: request.guild_id,
        recipients: request.servers,
        command: commandOf(request, OPERATOR),
        ttlSeconds: request.ttl,
        idempotencyKey: request.idempotency_key,
      };
      const sent = await commands.enqueue(command, currentOperator());
      return {
        commandIds: [sent.commandId],
        fullServers: 0,
        servers: sent.servers,
        expiresAt: unixSeconds(sent.expiresAt),
      };
    },
    async cancelCommand({ guildId: guild, commandId, actor: note }) {
      const request = checked(cancel, { guild_id: guild, command_id: commandId, actor: note }, 'request');
      return { cancelled: await commands.cancel(request.guild_id, request.command_id, currentOperator()) };
    },
  };
}

function readMethods({ commandReads, clock }: CommandAdminOptions): Pick<Methods, 'listCommands' | 'readCommand'> {
  return {
    async listCommands({ guildId: guild, ...message }) {
      const { cursor, since, ...request } = checked(list, { guild_id: guild, ...message }, 'request');
      const size = Math.min(request.limit || DEFAULT_PAGE_SIZE, MAX_COMMAND_PAGE_SIZE);
      const found = await commandReads.list(request.guild_id, {
        before: decodeCommandCursor(cursor),
        since: since === undefined ? undefined : new Date(since * 1000),
        limit: size,
      });
      const last = found.length === size ? found.at(-1) : undefined;
      const nextCursor = last ? `${last.createdAt.getTime()}-${last.sequence}` : '';
      return { commands: found.map((command) => commandMessage(command, clock.now())), nextCursor };
    },
    async readCommand({ guildId: guild, commandId, ...message }) {
      const request = checked(read, { guild_id: guild, command_id: commandId, ...message }, 'request');
      const now = clock.now();
      const size = request.limit || DEFAULT_PAGE_SIZE;
      const page = { after: request.cursor, limit: size };
      const { command, servers } = await commandReads.readWithServers(request.guild_id, request.command_id, page);
      const hasMore = command.serverId === '' && servers.length === size;
      return {
        command: commandMessage(command, now),
        servers: servers.map((server) => commandServerMessage(server, command, now)),
        nextCursor: hasMore ? (servers.at(-1)?.serverId ?? '') : '',
      };
    },
  };
}

function decodeCommandCursor(cursor: string): { createdAt: Date; sequence: number } | undefined {
  const [milliseconds, sequence] = cursor.split('-').map(Number);
  return sequence === undefined ? undefined : { createdAt: new Date(Number(milliseconds)), sequence };
}

function serverMethods({ database, clock }: CommandAdminOptions): Pick<Methods, 'listServers' | 'countServers'> {
  const now = () => new Date(clock.now());
  return {
    async listServers({ guildId: guild, placeId, ...message }) {
      const request = checked(serverPage, { guild_id: guild, place_id: placeId, ...message }, 'request');
      const size = request.limit || DEFAULT_PAGE_SIZE;
      const page = { placeId: request.place_id, after: request.cursor, limit: size };
      const found = await listServers(database, request.guild_id, page, now());
      const nextCursor = found.length === size ? (found.at(-1)?.serverId ?? '') : '';
      return { servers: found.map(gameServerMessage), nextCursor };
    },
    async countServers({ guildId: guild, placeId }) {
      const request = checked(serverFilter, { guild_id: guild, place_id: placeId }, 'request');
      return { servers: await countServers(database, request.guild_id, request.place_id, now()) };
    },
  };
}
