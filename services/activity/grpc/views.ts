import { unixSeconds } from '#kit/clock.ts';
import type {
  Command,
  CommandServer,
  GameServer,
  StaffRole as StaffRoleMessage,
} from '#proto/gen/guild/activity/v1/admin.ts';
import type { StaffSession } from '#proto/gen/guild/activity/v1/players.ts';
import { commandState, outcomeOf, serverState } from '../domain/command-outcome.ts';
import type { CommandRecord, ServerRecord } from '../store/command-records.ts';
import type { LiveServer } from '../store/servers.ts';
import type { Session } from '../store/sessions.ts';
import type { StaffRole } from '../store/staff-roles.ts';

/** Returns the gRPC message for a command and its outcome at the time `now`, in Unix milliseconds. */
export function commandMessage(command: CommandRecord, now: number): Command {
  const { targetGameId, targetGameUsername, ackedAt, cancelledAt, result } = command;
  const outcome = outcomeOf(command, now);
  return {
    commandId: command.commandId,
    serverId: command.serverId,
    type: command.type,
    target: targetGameId === null ? undefined : { gameId: targetGameId, gameUsername: targetGameUsername ?? undefined },
    payload: JSON.stringify(command.payload),
    issuedBy: command.issuedBy ?? undefined,
    createdAt: unixSeconds(command.createdAt),
    expiresAt: unixSeconds(command.expiresAt),
    attempt: command.attempt,
    state: commandState(command, outcome),
    ackedAt: ackedAt ? unixSeconds(ackedAt) : undefined,
    result: result === null ? undefined : JSON.stringify(result),
    error: command.error ?? undefined,
    placeId: command.placeId ?? undefined,
    cancelledAt: cancelledAt ? unixSeconds(cancelledAt) : undefined,
    outcome,
  };
}

/**
 * Returns the gRPC message for the state of a command on one game server at the time `now`, in Unix milliseconds. For a
 * command to a named server, `server` and `command` are the same record.
 */
export function commandServerMessage(server: ServerRecord, command: CommandRecord, now: number): CommandServer {
  return {
    serverId: server.serverId,
    state: serverState(server, command, now),
    attempt: server.attempt,
    ackedAt: server.ackedAt ? unixSeconds(server.ackedAt) : undefined,
    result: server.result === null ? undefined : JSON.stringify(server.result),
    error: server.error ?? undefined,
  };
}

/** Returns the gRPC message for a live game server. */
export function gameServerMessage(server: LiveServer): GameServer {
  const { universeId, fps, pluginVersion, ageSeconds, heartbeatAt } = server;
  return {
    serverId: server.serverId,
    placeId: server.placeId,
    universeId: universeId ?? undefined,
    playerCount: server.playerCount,
    maxPlayers: server.maxPlayers,
    fps: fps ?? undefined,
    pluginVersion: pluginVersion ?? undefined,
    startedAt: ageSeconds === null ? undefined : unixSeconds(heartbeatAt) - ageSeconds,
    heartbeatAt: unixSeconds(heartbeatAt),
    liveUntil: unixSeconds(server.liveUntil),
  };
}

/** Returns the gRPC message for an open staff session. */
export function staffSessionMessage({ gameUsername, startedAt, ...session }: Session): StaffSession {
  return {
    sessionId: session.sessionId,
    gameId: session.gameId,
    gameUsername: gameUsername ?? undefined,
    placeId: session.placeId,
    serverId: session.serverId,
    startedAt: unixSeconds(startedAt),
    idleSeconds: session.idleSeconds,
  };
}

/** Returns the gRPC message for a staff role, which is a chat role whose members are staff in the game. */
export const staffRoleMessage = ({ updatedAt, ...role }: StaffRole): StaffRoleMessage => ({
  ...role,
  updatedAt: unixSeconds(updatedAt),
});
