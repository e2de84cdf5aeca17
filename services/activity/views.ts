import { unixSeconds } from '#kit/clock.ts';
import type { Command } from '#proto/gen/guild/activity/v1/admin.ts';
import { PERMISSION_CACHE_SECONDS, type StaffPermissions } from './domain/permissions.ts';
import type { LeasedCommand, listCommands } from './store/commands.ts';

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

type ListedCommand = Awaited<ReturnType<typeof listCommands>>[number];

/** A command as operators see it; `now` in Unix milliseconds. */
export function adminView(command: ListedCommand, now: number): Command {
  const { targetGameId, targetGameUsername, ackedAt, result } = command;
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
    state: stateOf(command, now),
    ackedAt: ackedAt ? unixSeconds(ackedAt) : undefined,
    result: result === null ? undefined : JSON.stringify(result),
    error: command.error ?? undefined,
  };
}

function stateOf({ status, expiresAt, leasedUntil }: ListedCommand, now: number): string {
  if (status) return status;
  if (expiresAt.getTime() <= now) return 'expired';
  return leasedUntil && leasedUntil.getTime() > now ? 'leased' : 'queued';
}
