import { z } from 'zod';
import type { PlatformResponse } from '../http/host.ts';

/** The error codes of the chat platform. */
export const CODES = {
  unknownChannel: 10003,
  unknownGuild: 10004,
  unknownMember: 10007,
  unknownRole: 10011,
  unknownUser: 10013,
  tooManyGuilds: 30001,
  tooManyInvites: 30016,
  userBanned: 40007,
  missingAccess: 50001,
  missingPermission: 50013,
  invalidToken: 50025,
  invalidRole: 50028,
  invalidForm: 50035,
};

/** The codes of rejected GET requests that stay the same until somebody changes the bot's rights in the guild. */
const LASTING_CODES: ReadonlySet<number | undefined> = new Set([CODES.missingAccess, CODES.missingPermission]);

/** Returns the chat platform's own error code; undefined if the response contains none. */
export function codeOf({ body }: PlatformResponse): number | undefined {
  return z.object({ code: z.number() }).safeParse(body).data?.code;
}

/**
 * True if the bot is not permitted to make the request. The platform then sends various error codes, sometimes none.
 */
export const isForbidden = ({ status }: PlatformResponse): boolean => status === 403;

/**
 * True if a retry is useless until somebody changes the guild. For a write every 403 is lasting, whatever its error
 * code.
 */
export function isLastingRejection(response: PlatformResponse, method = 'GET'): boolean {
  return isForbidden(response) && (method !== 'GET' || LASTING_CODES.has(codeOf(response)));
}

/** True if the bot is not in the guild, or may not read the guild. */
export function lacksGuildAccess(response: PlatformResponse): boolean {
  const code = codeOf(response);
  return (
    (response.status === 403 && code === CODES.missingAccess) ||
    (response.status === 404 && code === CODES.unknownGuild)
  );
}
