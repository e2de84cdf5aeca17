import { ApiError, type Fault } from '../errors.ts';
import type { Principal } from '../security/principal.ts';

/**
 * Checks the `guild_id` in a request body, which any route may have. It must be a string (otherwise a validation error
 * is returned) and equal the guild of the API key (otherwise GUILD_MISMATCH is thrown).
 */
export function guildFaults(body: Record<string, unknown> | undefined, principal: Principal): Fault[] {
  const guildId = body && Object.hasOwn(body, 'guild_id') ? body.guild_id : undefined;
  if (guildId === undefined) return [];
  if (typeof guildId !== 'string') return [{ path: 'body.guild_id', message: 'must be a string' }];
  if (guildId !== principal.guildId) throw new ApiError('GUILD_MISMATCH');
  return [];
}
