import { unixSeconds } from '#kit/clock.ts';
import type { Command, CommandOutcome, CommandServer, GameServer } from '#proto/gen/guild/activity/v1/admin.ts';
import { PERMISSION_CACHE_SECONDS, type StaffPermissions } from '../domain/permissions.ts';
import type { CommandRecord, ServerRecord } from '../store/command-records.ts';
import type { LeasedCommand } from '../store/commands.ts';
import type { LiveServer } from '../store/servers.ts';

/** A command as its server gets it. */
export function commandView(command: LeasedCommand) {
  return {
    command_id: command.commandId,
    type: command.type,
    target:
      command.targetGameId === null
        ? null
        : { game_id: command.targetGameId, game_username: command.targetGameUsername },
    payload: command.payload,
    issued_by: command.issuedBy,
    created_at: unixSeconds(command.createdAt),
    expires_at: unixSeconds(command.expiresAt),
    attempt: command.attempt,
    lease_expires_at: unixSeconds(command.leasedUntil),
  };
}

/** What a game server is told of a player who may be staff. */
export function permissionsView(gameId: number, told: StaffPermissions) {
  return {
    game_id: gameId,
    chat_id: told.chatId ?? null,
    is_staff: told.isStaff,
    level: told.level,
    role_name: told.roleName ?? null,
    permissions: told.permissions,
    cache_seconds: PERMISSION_CACHE_SECONDS,
  };
}

/** A command as operators see it; `now` in Unix milliseconds. */
export function adminView(command: CommandRecord, now: number): Command {
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
    state: stateOf(command, outcome),
    ackedAt: ackedAt ? unixSeconds(ackedAt) : undefined,
    result: result === null ? undefined : JSON.stringify(result),
    error: command.error ?? undefined,
    placeId: command.placeId ?? undefined,
    cancelledAt: cancelledAt ? unixSeconds(cancelledAt) : undefined,
    outcome,
  };
}

/** What became of a command for several servers on one of them. */
export function serverView(server: ServerRecord, command: CommandRecord, now: number): CommandServer {
  return {
    serverId: server.serverId,
    state: serverState(server, command.cancelledAt !== null && server.attempt === 0, now),
    attempt: server.attempt,
    ackedAt: server.ackedAt ? unixSeconds(server.ackedAt) : undefined,
    result: server.result === null ? undefined : JSON.stringify(server.result),
    error: server.error ?? undefined,
  };
}

/** What became of a command for a named server. */
export const ownServerView = (command: CommandRecord, now: number) => serverView(command, command, now);

/** A live server as operators see it. */
export function gameServerView(server: LiveServer): GameServer {
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

function outcomeOf(command: CommandRecord, now: number): CommandOutcome {
  const answers = command.handed === null ? ownAnswers(command, now) : sharedAnswers(command);
  const { servers } = command;
  // A server whose heartbeat was under way when the command was sent may have got it without having been counted.
  const missing = Math.max(0, servers - answers.delivered);
  const isOver = command.expiresAt.getTime() <= now;
  return {
    servers,
    delivered: answers.delivered,
    succeeded: answers.succeeded,
    failed: answers.failed,
    rejected: answers.rejected,
    expired: answers.unanswered + (isOver && command.cancelledAt === null ? missing : 0),
    cancelled: command.cancelledAt === null ? 0 : missing,
  };
}

function ownAnswers({ attempt, status, expiresAt }: CommandRecord, now: number) {
  return {
    delivered: attempt > 0 || status !== null ? 1 : 0,
    succeeded: status === 'success' ? 1 : 0,
    failed: status === 'failed' ? 1 : 0,
    rejected: status === 'rejected' ? 1 : 0,
    unanswered: attempt > 0 && status === null && expiresAt.getTime() <= now ? 1 : 0,
  };
}

const sharedAnswers = ({ handed, succeeded, failed, rejected, unanswered }: CommandRecord) => ({
  delivered: handed ?? 0,
  succeeded: succeeded ?? 0,
  failed: failed ?? 0,
  rejected: rejected ?? 0,
  unanswered: unanswered ?? 0,
});

function stateOf({ cancelledAt }: CommandRecord, outcome: CommandOutcome): string {
  if (cancelledAt) return 'cancelled';
  const { servers, succeeded, failed, rejected, expired } = outcome;
  return succeeded + failed + rejected + expired >= servers ? 'finished' : 'open';
}

function serverState(
  { status, expiresAt, leasedUntil }: Pick<ServerRecord, 'status' | 'expiresAt' | 'leasedUntil'>,
  isCancelled: boolean,
  now: number,
): string {
  if (status) return status;
  if (isCancelled) return 'cancelled';
  if (expiresAt.getTime() <= now) return 'expired';
  return leasedUntil && leasedUntil.getTime() > now ? 'leased' : 'queued';
}
