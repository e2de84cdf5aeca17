import { randomUUID } from 'node:crypto';
import { CommandAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { COMMAND_TYPES } from '#proto/rest/activity/shapes.ts';
import { ACTOR_OPTION, type Command, type Input, YES_OPTION } from '../../command.ts';
import type { Connections } from '../../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../../pages.ts';
import { repeatable } from '../../repeatable.ts';
import { required } from '../../responses.ts';
import { time } from '../../text.ts';
import { TIME_FORMATS } from '../../times.ts';
import { commandCells, commandDocument, commandServerJson, HEADINGS, serverCells, summaryOf } from './views.ts';

const MAX_TTL_SECONDS = 7 * 24 * 3600;
/** The types of commands to game servers that require a target player. */
const TYPES_WITH_TARGET = ['kick', 'ban', 'unban', 'mute', 'unmute', 'message'];

const admin = (connections: Connections) => connections.admin(CommandAdminServiceService, 'activity');

const send: Command = {
  name: 'commands send',
  usage:
    '--guild ID (--server SERVER_ID | --place PLACE_ID | --all --yes) --type TYPE [--target GAME_ID] [--payload JSON] [--ttl SECONDS] [--idempotency-key KEY] [--actor NOTE]',
  notes: [
    '--server ID      one server, live or not; --place and --all select only live servers',
    '--all            all live servers of the guild; without --yes only their number is printed',
    `--type TYPE      ${COMMAND_TYPES.join(', ')}`,
    `--target ID      the target player; required for ${TYPES_WITH_TARGET.join(', ')}`,
    '--payload JSON   an object of at most 8 KiB',
    '--ttl N          seconds until it expires; by default 4 times the heartbeat interval, at least 120',
    '--idempotency-key KEY  repeat an earlier command line safely: with the same key nothing is sent twice',
  ],
  options: {
    guild: { type: 'string' },
    server: { type: 'string' },
    place: { type: 'string' },
    all: { type: 'boolean' },
    type: { type: 'string' },
    target: { type: 'string' },
    payload: { type: 'string' },
    ttl: { type: 'string' },
    'idempotency-key': { type: 'string' },
    ...ACTOR_OPTION,
    ...YES_OPTION,
  },
  run: async (input, connections, terminal) => {
    const gameId = input.numericId('target');
    const command = {
      guildId: input.requiredText('guild'),
      servers: readServers(input),
      type: input.requiredText('type'),
      target: gameId === undefined ? undefined : { gameId },
      payload: input.text('payload') ?? '',
      ttlSeconds: input.wholeNumber('ttl', { min: 1, max: MAX_TTL_SECONDS }),
      idempotencyKey: input.text('idempotency-key') ?? randomUUID(),
      actor: input.actor,
    };
    if (TYPES_WITH_TARGET.includes(command.type) && input.text('target') === undefined) {
      input.fault(`--target is required for --type ${command.type}`);
    }
    input.check();
    if (command.servers.$case === 'all' && !input.flag('yes')) {
      const { servers } = await admin(connections).countServers({ guildId: command.guildId });
      input.confirm(`sends "${command.type}" to ${servers} live servers, all of guild ${command.guildId}`);
    }
    const { commandIds, servers, expiresAt } = await repeatable(command.idempotencyKey, terminal, () =>
      admin(connections).enqueueCommands(command),
    );
    const text = `${commandIds.join('\n')}\nSent to ${servers} servers, expires ${time(expiresAt)}.`;
    const none = `${commandIds.join('\n')}\nNone of these servers is live: the command was sent to no server.`;
    return {
      document: { command_ids: commandIds, servers, expires_at: expiresAt },
      text: servers > 0 ? text : none,
    };
  },
};

const list: Command = {
  name: 'commands list',
  usage: `--guild ID [--since TIME] ${PAGE_USAGE}`,
  notes: [`--since TIME     only commands that were sent since this time: ${TIME_FORMATS}`, ...PAGE_NOTES],
  options: { guild: { type: 'string' }, since: { type: 'string' }, ...PAGE_OPTIONS },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const since = input.time('since', 'ago');
    const pages = readPageOptions(input);
    input.check();
    return listOutput(pages, {
      field: 'commands',
      none: 'There are no such commands.',
      headings: HEADINGS,
      cells: commandCells,
      document: commandDocument,
      page: async ({ limit, cursor }) => {
        const page = await admin(connections).listCommands({ guildId, limit, cursor, since });
        return { items: page.commands, nextCursor: page.nextCursor };
      },
    });
  },
};

const show: Command = {
  name: 'commands show',
  usage: `COMMAND_ID --guild ID ${PAGE_USAGE}`,
  notes: ['The pages contain its servers, ordered by ID.', ...PAGE_NOTES],
  argument: 'COMMAND_ID',
  options: { guild: { type: 'string' }, ...PAGE_OPTIONS },
  run: async (input, connections, terminal) => {
    const request = readCommandRef(input);
    const pages = readPageOptions(input);
    input.check();
    const read = (limit: number, cursor: string) => admin(connections).readCommand({ ...request, limit, cursor });
    // The output starts with the command, followed by the table of its servers. The response with the command already
    // contains the first page of the table.
    const { limit, cursor } = pages.first;
    const first = await read(limit, cursor);
    const command = required(first.command, 'command');
    for (const line of summaryOf(command)) terminal.report(line);
    return listOutput(pages, {
      head: { command: commandDocument(command) },
      field: 'servers',
      none: 'No server has the command.',
      headings: ['SERVER', 'STATE', 'ATTEMPT', 'ACKNOWLEDGED', 'ERROR'],
      cells: serverCells,
      document: commandServerJson,
      page: async (next) => {
        const page = next.cursor === cursor ? first : await read(next.limit, next.cursor);
        return { items: page.servers, nextCursor: page.nextCursor };
      },
    });
  },
};

const cancel: Command = {
  name: 'commands cancel',
  usage: 'COMMAND_ID --guild ID [--actor NOTE]',
  argument: 'COMMAND_ID',
  options: { guild: { type: 'string' }, ...ACTOR_OPTION },
  run: async (input, connections) => {
    const request = { ...readCommandRef(input), actor: input.actor };
    input.check();
    const { cancelled } = await admin(connections).cancelCommand(request);
    const text = cancelled > 0 ? `Cancelled for ${cancelled} servers.` : 'There was nothing left to cancel.';
    return { document: { cancelled }, text };
  },
};

export const gameCommands: readonly Command[] = [send, list, show, cancel];

function readCommandRef(input: Input): { guildId: string; commandId: string } {
  if (!input.argument) input.fault('COMMAND_ID is required');
  return { guildId: input.requiredText('guild'), commandId: input.argument ?? '' };
}

function readServers(input: Input) {
  const chosen = input.oneOf('server', 'place', 'all');
  const placeId = input.numericId('place') ?? 0;
  if (chosen === 'server') return { $case: 'serverId' as const, value: input.text('server') ?? '' };
  return chosen === 'place' ? { $case: 'placeId' as const, value: placeId } : { $case: 'all' as const, value: true };
}
