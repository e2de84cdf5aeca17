import { ApiError } from '#kit/errors.ts';
import { NO_SERVER_ID } from '#proto/rest/activity/shapes.ts';

/**
 * Returns the server ID. Throws NOT_APPLICABLE if it is empty, which is the case for requests from the game's editor.
 */
export function requireServerId(serverId: string): string {
  if (serverId === '') throw new ApiError('NOT_APPLICABLE', { message: NO_SERVER_ID });
  return serverId;
}
