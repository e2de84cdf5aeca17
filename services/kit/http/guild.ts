import { ApiError, type Fault } from '../errors.ts';
import type { Principal } from '../security/principal.ts';

/**
 * Whatever a route's schema says of it: a guild in the body is a string and the key's own. GUILD_MISMATCH when it is
 * another's; what is no string is told as a fault.
 */
export function guildFaults(body: Record<string, unknown> | undefined, principal: Principal): Fault[] {
  const guildId = body && Object.hasOwn(body, 'guild_id') ? body.guild_id : undefined;
  if (guildId === undefined) return [];
  if (typeof guildId !== 'string') return [{ path: 'body.guild_id', message: 'must be a string' }];
  if (guildId !== principal.guildId) throw new ApiError('GUILD_MISMATCH');
  return [];
}
