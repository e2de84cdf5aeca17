import type { CommandServer, Command as GameCommand } from '#proto/gen/guild/activity/v1/admin.ts';
import { time } from '../text.ts';

export const HEADINGS = ['CREATED', 'COMMAND', 'FOR', 'TYPE', 'TARGET', 'STATE', 'SERVERS', 'OUTCOME', 'ISSUED BY'];

/** A command in a table under `HEADINGS`. */
export const commandCells = (command: GameCommand) => [
  time(command.createdAt),
  command.commandId,
  reachOf(command),
  command.type,
  command.target ? String(command.target.gameId) : '',
  command.state,
  String(command.outcome?.servers ?? 0),
  outcomeText(command),
  command.issuedBy ?? '',
];

/** A command in lines of text. */
export const summaryOf = (command: GameCommand): string[] => [
  `${command.type} for ${reachOf(command)}, ${command.state}, sent ${time(command.createdAt)}`,
  `Servers: ${command.outcome?.servers ?? 0}; ${outcomeText(command) || 'no response yet'}`,
];

function reachOf({ serverId, placeId }: GameCommand): string {
  if (serverId !== '') return serverId;
  return placeId === undefined ? 'all servers' : `place ${placeId}`;
}

/** Only what there is, such as `2 delivered, 1 succeeded`. */
function outcomeText({ outcome }: GameCommand): string {
  const counts = Object.entries(outcome ?? {}).filter(([name, count]) => name !== 'servers' && Number(count) > 0);
  return counts.map(([name, count]) => `${count} ${name}`).join(', ');
}

/** A command as JSON. */
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

/** What became of a command on a server, in a table. */
export const serverCells = (server: CommandServer) => [
  server.serverId,
  server.state,
  String(server.attempt),
  server.ackedAt === undefined ? '' : time(server.ackedAt),
  server.error ?? '',
];

/** The same as JSON. */
export const serverDocument = (server: CommandServer) => ({
  server_id: server.serverId,
  state: server.state,
  attempt: server.attempt,
  acked_at: server.ackedAt ?? null,
  result: server.result === undefined ? null : (JSON.parse(server.result) as unknown),
  error: server.error ?? null,
});
