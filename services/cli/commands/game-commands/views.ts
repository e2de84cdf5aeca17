import type { CommandServer, Command as GameCommand } from '#proto/gen/guild/activity/v1/admin.ts';
import { optionalTime, time } from '../../text.ts';

/** The headings of a table of commands to game servers. */
export const HEADINGS = ['CREATED', 'COMMAND', 'FOR', 'TYPE', 'TARGET', 'STATE', 'SERVERS', 'OUTCOME', 'ISSUED BY'];

/** Returns the cells of a command to game servers in a table with the headings HEADINGS. */
export const commandCells = (command: GameCommand) => [
  time(command.createdAt),
  command.commandId,
  targetServers(command),
  command.type,
  command.target ? String(command.target.gameId) : '',
  command.state,
  String(command.outcome?.servers ?? 0),
  outcomeText(command),
  command.issuedBy ?? '',
];

/** Returns a command to game servers as lines of text. */
export const summaryOf = (command: GameCommand): string[] => [
  `${command.type} for ${targetServers(command)}, ${command.state}, sent ${time(command.createdAt)}`,
  `Servers: ${command.outcome?.servers ?? 0}; ${outcomeText(command) || 'no response yet'}`,
];

/** Describes the game servers that a command was sent to. */
function targetServers({ serverId, placeId }: GameCommand): string {
  if (serverId !== '') return serverId;
  return placeId === undefined ? 'all servers' : `place ${placeId}`;
}

/** Returns the outcome of a command as text with the counts that are not 0, such as `2 delivered, 1 succeeded`. */
function outcomeText({ outcome }: GameCommand): string {
  const counts = Object.entries(outcome ?? {}).filter(([name, count]) => name !== 'servers' && Number(count) > 0);
  return counts.map(([name, count]) => `${count} ${name}`).join(', ');
}

/** Returns a command to game servers as JSON. */
export function commandDocument({ target, ...command }: GameCommand) {
  return {
    command_id: command.commandId,
    server_id: command.serverId || null,
    place_id: command.placeId ?? null,
    type: command.type,
    target: target ? { game_id: target.gameId, game_username: target.gameUsername ?? null } : null,
    payload: JSON.parse(command.payload) as unknown,
    issued_by: command.issuedBy ?? null,
    created_at: command.createdAt,
    expires_at: command.expiresAt,
    cancelled_at: command.cancelledAt ?? null,
    state: command.state,
    outcome: command.outcome,
  };
}

/** Returns the cells of a table row with the state of a command on one game server. */
export const serverCells = (server: CommandServer) => [
  server.serverId,
  server.state,
  String(server.attempt),
  optionalTime(server.ackedAt, ''),
  server.error ?? '',
];

/** Returns the state of a command on one game server as JSON. */
export const commandServerJson = (server: CommandServer) => ({
  server_id: server.serverId,
  state: server.state,
  attempt: server.attempt,
  acked_at: server.ackedAt ?? null,
  result: server.result === undefined ? null : (JSON.parse(server.result) as unknown),
  error: server.error ?? null,
});
