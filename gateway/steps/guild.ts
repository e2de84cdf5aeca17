import { ApiError, invalidRequest, type Rejection } from '#kit/errors.ts';
import type { Match } from '#kit/http/match.ts';

const MISMATCH = new ApiError('GUILD_MISMATCH');

/**
 * Returns GUILD_MISMATCH if the path or X-Guild-ID names another guild than the API key's, and INVALID_REQUEST if the
 * route needs X-Guild-ID and the header is missing. If the guild is in the body, the service checks it.
 */
export function checkGuild(
  { route, params: { guildId } }: Match,
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
