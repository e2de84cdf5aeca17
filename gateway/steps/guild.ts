import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { Match } from './match.ts';

/**
 * GUILD_MISMATCH when the path or X-Guild-ID names another guild than the key's; INVALID_REQUEST when the route needs
 * X-Guild-ID and it is not there. A guild in the body is judged by the service.
 */
export function checkGuild({ route, guildId }: Match, header: string | string[] | undefined, keyGuild: string): void {
  if (guildId !== undefined && guildId !== keyGuild) throw new ApiError('GUILD_MISMATCH');
  if (header !== undefined && header !== '') {
    if (header !== keyGuild) throw new ApiError('GUILD_MISMATCH');
  } else if (route.guild === 'header') {
    throw invalidRequest([{ path: 'header.X-Guild-ID', message: 'is required' }]);
  }
}
