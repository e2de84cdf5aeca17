import { unixSeconds } from '#kit/clock.ts';
import { PERMISSION_CACHE_SECONDS, type StaffPermissions } from '../domain/permissions.ts';
import type { LeasedCommand } from '../store/commands.ts';

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
