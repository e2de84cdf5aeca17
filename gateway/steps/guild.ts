import { ApiError, invalidRequest, type Rejection } from '#kit/errors.ts';
import type { Match } from './match.ts';

const MISMATCH = new ApiError('GUILD_MISMATCH');

/**
 * GUILD_MISMATCH when the path or X-Guild-ID names another guild than the key's; INVALID_REQUEST when the route needs
 * X-Guild-ID and it is not there. A guild in the body is judged by the service.
 */
export function checkGuild(
  { route, guildId }: Match,
  header: string | string[] | undefined,
  keyGuild: string,
): Rejection {
  const isGiven = header !== undefined && header !== '';
  if ((guildId !== undefined && guildId !== keyGuild) || (isGiven && header !== keyGuild)) {
    return MISMATCH;
  }
  if (isGiven || route.guild !== 'header') return undefined;
  return invalidRequest([{ path: 'header.X-Guild-ID', message: 'is required' }]);
}
