import { ApiError } from '#kit/errors.ts';

const NO_SERVER_ID = 'server_id is empty: a game in the editor has no job ID. Report only from published servers';

/**
 * Returns the server ID. Throws NOT_APPLICABLE if it is empty, which is the case for requests from the game's editor.
 */
export function requireServerId(serverId: string): string {
  if (serverId === '') throw new ApiError('NOT_APPLICABLE', { message: NO_SERVER_ID });
  return serverId;
}
