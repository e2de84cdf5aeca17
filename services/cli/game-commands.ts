import { type Command as GameCommand, CommandAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { COMMAND_TYPES } from '#proto/rest/activity/shapes.ts';
import type { Command, Input } from './command.ts';
import type { Connections } from './connections.ts';
import { table, time } from './text.ts';

const MOST_LISTED = 1_000;
const GAME_ID = { min: 1, max: Number.MAX_SAFE_INTEGER };
const LONGEST_TTL_SECONDS = 7 * 24 * 3600;

const send: Command = {
  name: 'commands send',
  summary: 'tell game servers to do something',
  usage:
    '--guild ID (--server SERVER_ID | --place PLACE_ID | --all) --type TYPE [--target GAME_ID] [--payload JSON] [--ttl SECONDS] [--actor NAME]',
  notes: [
    '--server ID      one server, live or not; --place and --all: each that is live now',
    '                 for a server 1,000 commands can wait; --place and --all pass over where they do',
    `--type TYPE      ${COMMAND_TYPES.join(', ')}`,
    '--target ID      the player that it is about',
    '--payload JSON   an object of at most 8 KiB',
    '--ttl N          seconds until it expires; else 4 times the interval of heartbeats, at least 120',
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
    actor: { type: 'string' },
  },
  run: async (input, connections) => {
    const gameId = input.wholeNumber('target', GAME_ID);
    const asked = {
      guildId: input.requiredText('guild'),
      servers: readServers(input),
      type: input.requiredText('type'),
      target: gameId === undefined ? undefined : { gameId },
      payload: input.text('payload') ?? '',
      ttlSeconds: input.wholeNumber('ttl', { min: 1, max: LONGEST_TTL_SECONDS }),
      actor: input.actor,
    };
    input.check();
    const { commandIds, fullServers } = await admin(connections).enqueueCommands(asked);
    const lines = [...commandIds];
    if (fullServers > 0) lines.push(`Passed over, since too many commands wait for them: ${fullServers} servers.`);
    if (lines.length === 0) lines.push('No server is live there: nothing was sent.');
    const passedOver = fullServers > 0 ? { full_servers: fullServers } : {};
    return { document: { command_ids: commandIds, ...passedOver }, text: lines.join('\n') };
  },
};

const list: Command = {
  name: 'commands list',
  summary: 'the newest commands of a guild, and what became of them',
  usage: '--guild ID [--limit N]',
  notes: [`--limit N        1 to ${MOST_LISTED}; 100 when left out`],
  options: { guild: { type: 'string' }, limit: { type: 'string' } },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const limit = input.wholeNumber('limit', { min: 1, max: MOST_LISTED }) ?? 0;
    input.check();
    const { commands } = await admin(connections).listCommands({ guildId, limit });
    const headings = ['CREATED', 'COMMAND', 'SERVER', 'TYPE', 'TARGET', 'STATE', 'ATTEMPT', 'ISSUED BY', 'ERROR'];
    const text = commands.length > 0 ? table(headings, commands.map(cells)) : 'The guild has no commands.';
    return { document: { commands: commands.map(commandDocument) }, text };
  },
};

export const gameCommands: readonly Command[] = [send, list];

const admin = (connections: Connections) => connections.admin(CommandAdminServiceService, 'activity');

function readServers(input: Input) {
  const chosen = input.oneOf('server', 'place', 'all');
  const placeId = input.wholeNumber('place', GAME_ID) ?? 0;
  if (chosen === 'server') return { $case: 'serverId' as const, value: input.text('server') ?? '' };
  return chosen === 'place' ? { $case: 'placeId' as const, value: placeId } : { $case: 'all' as const, value: true };
}

const cells = (command: GameCommand) => [
  time(command.createdAt),
  command.commandId,
  command.serverId,
  command.type,
  command.target ? String(command.target.gameId) : '',
  command.state,
  String(command.attempt),
  command.issuedBy ?? '',
  command.error ?? '',
];

function commandDocument({ target, ...command }: GameCommand) {
  return {
    command_id: command.commandId,
    server_id: command.serverId,
    type: command.type,
    target: target ? { game_id: target.gameId, game_username: target.gameUsername ?? null } : null,
    payload: JSON.parse(command.payload) as unknown,
    issued_by: command.issuedBy ?? null,
    created_at: command.createdAt,
    expires_at: command.expiresAt,
    attempt: command.attempt,
    state: command.state,
    acked_at: command.ackedAt ?? null,
    result: command.result === undefined ? null : (JSON.parse(command.result) as unknown),
    error: command.error ?? null,
  };
}
