import { ApiError, type Fault } from '../errors.ts';
import type { Principal } from '../security/principal.ts';

/**
 * Checks the guild in the body of any route: it must be a string, and the guild of the API key. Throws GUILD_MISMATCH
 * for another guild; a value that is not a string is a validation error.
 */
export function guildFaults(body: Record<string, unknown> | undefined, principal: Principal): Fault[] {
  const guildId = body && Object.hasOwn(body, 'guild_id') ? body.guild_id : undefined;
  if (guildId === undefined) return [];
  if (typeof guildId !== 'string') return [{ path: 'body.guild_id', message: 'must be a string' }];
  if (guildId !== principal.guildId) throw new ApiError('GUILD_MISMATCH');
  return [];
}
