import { unixSeconds } from '#kit/clock.ts';
import { commandState, outcomeOf, serverState } from '../domain/command-outcome.ts';
import { PERMISSION_CACHE_SECONDS, type StaffPermissions } from '../domain/permissions.ts';
import type { CommandRecord, ServerRecord } from '../store/command-records.ts';
import type { LeasedCommand } from '../store/commands.ts';
import type { LiveServer, ServerWithPlayers } from '../store/servers.ts';
import type { Session } from '../store/sessions.ts';
import type { Action, StoredAction } from '../store/staff.ts';

/** Returns a command as the REST response to its game server shows it. */
export function commandView(command: LeasedCommand) {
  const { targetGameId, targetGameUsername } = command;
  return {
    command_id: command.commandId,
    type: command.type,
    target: targetGameId === null ? null : { game_id: targetGameId, game_username: targetGameUsername },
    payload: command.payload,
    issued_by: command.issuedBy,
    created_at: unixSeconds(command.createdAt),
    expires_at: unixSeconds(command.expiresAt),
    attempt: command.attempt,
    lease_expires_at: unixSeconds(command.leasedUntil),
  };
}

/** Returns the staff permissions of a player as the REST response to a game server shows them. */
export function permissionsView(gameId: number, staff: StaffPermissions) {
  return {
    game_id: gameId,
    chat_id: staff.chatId ?? null,
    is_staff: staff.isStaff,
    level: staff.level,
    role_name: staff.roleName ?? null,
    permissions: staff.permissions,
    cache_seconds: PERMISSION_CACHE_SECONDS,
  };
}

/** Returns a game server as its last heartbeat described it. */
export function serverView(server: LiveServer) {
  const heartbeatAt = unixSeconds(server.heartbeatAt);
  return {
    server_id: server.serverId,
    place_id: server.placeId,
    universe_id: server.universeId,
    player_count: server.playerCount,
    max_players: server.maxPlayers,
    fps: server.fps,
    plugin_version: server.pluginVersion,
    started_at: server.ageSeconds === null ? null : heartbeatAt - server.ageSeconds,
    heartbeat_at: heartbeatAt,
    live_until: unixSeconds(server.liveUntil),
  };
}

/** Returns a game server as its last heartbeat described it, with the players on it. */
export function serverWithPlayersView(server: ServerWithPlayers) {
  const players = server.players?.map(({ game_id, username }) => ({ game_id, username: username ?? null }));
  return { ...serverView(server), players: players ?? null };
}

/** Returns a staff session with all fields. */
export function sessionView(session: Session) {
  return {
    session_id: session.sessionId,
    game_id: session.gameId,
    game_username: session.gameUsername,
    place_id: session.placeId,
    server_id: session.serverId,
    started_at: unixSeconds(session.startedAt),
    ended_at: session.endedAt && unixSeconds(session.endedAt),
    idle_seconds: session.idleSeconds,
    end_reason: session.endReason,
  };
}

/** Returns a staff action that was logged at the time `loggedAt`. */
export function actionView(action: Action | StoredAction, loggedAt: Date) {
  return {
    id: action.actionId,
    actor_game_id: action.actorGameId,
    action_type: action.type,
    target_game_id: action.targetGameId ?? null,
    place_id: action.placeId ?? null,
    server_id: action.serverId ?? null,
    details: action.details ?? null,
    occurred_at: unixSeconds(action.occurredAt),
    created_at: unixSeconds(loggedAt),
  };
}

/** Returns a command with the number of servers by outcome at the time `now`. */
export function commandRecordView(command: CommandRecord, now: Date) {
  const { targetGameId, targetGameUsername } = command;
  const outcome = outcomeOf(command, now.getTime());
  return {
    command_id: command.commandId,
    type: command.type,
    target: targetGameId === null ? null : { game_id: targetGameId, game_username: targetGameUsername },
    payload: command.payload,
    issued_by: command.issuedBy,
    server_id: command.serverId === '' ? null : command.serverId,
    place_id: command.placeId,
    state: commandState(command, outcome),
    created_at: unixSeconds(command.createdAt),
    expires_at: unixSeconds(command.expiresAt),
    cancelled_at: command.cancelledAt && unixSeconds(command.cancelledAt),
    outcome,
  };
}

/** Returns the state of a command on one of its servers at the time `now`. */
export function commandServerView(server: ServerRecord, command: CommandRecord, now: Date) {
  return {
    server_id: server.serverId,
    state: serverState(server, command, now.getTime()),
    attempt: server.attempt,
    acked_at: server.ackedAt && unixSeconds(server.ackedAt),
    result: server.result ?? null,
    error: server.error,
  };
}
