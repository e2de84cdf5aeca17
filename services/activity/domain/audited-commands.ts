import type { AuditedChange } from '#kit/events/recorder.ts';
import type { SentCommand } from '../store/new-commands.ts';
import type { CommandRequest } from './command-request.ts';

/** Returns the audit entry of a command that a client of the REST API has sent. */
export function commandSent({ guildId, recipients, command }: CommandRequest, sent: SentCommand): AuditedChange {
  const { type, target, payload } = command;
  const data = {
    command_id: sent.commandId,
    type,
    target_game_id: target?.gameId ?? null,
    server_id: 'serverId' in recipients ? recipients.serverId : null,
    place_id: 'placeId' in recipients ? recipients.placeId : null,
    servers: sent.servers,
    payload,
  };
  return { guildId, type: 'command.sent', data };
}

/** Returns the audit entry of a command that a client of the REST API has cancelled for some servers. */
export const commandCancelled = (
  { guildId }: { guildId: string },
  commandId: string,
  servers: number,
): AuditedChange => ({ guildId, type: 'command.cancelled', data: { command_id: commandId, servers } });
