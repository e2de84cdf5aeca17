import { asApiError, isServerError } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import { cookie, JOIN_COOKIE, readCookie, removedCookie } from './cookies.ts';
import type { ConsoleHandlers, EndpointResult } from './endpoint.ts';
import { type AuthClient, SIGN_IN_SECONDS } from './sign-in.ts';

export interface JoinParts {
  auth: Pick<AuthClient, 'startJoin' | 'finishJoin'>;
  log: Logger;
}

/** Returns the handlers of the endpoints with which a person joins a guild. They create no session. */
export function joinHandlers({ auth, log }: JoinParts): Pick<ConsoleHandlers, 'startJoin' | 'finishJoin'> {
  const failed = (thrown: unknown): EndpointResult<never> => {
    const error = asApiError(thrown);
    if (isServerError(error)) log.error({ err: error }, 'join of a guild failed');
    else log.info({ rejection: error.code }, 'join of a guild rejected');
    return { redirect: `/joined?error=${error.code}`, cookies: [removedCookie(JOIN_COOKIE)] };
  };
  return {
    async startJoin({ params: { guildId }, caller }) {
      try {
        const { redirectUrl, browserSecret } = await auth.startJoin({ guildId, address: caller.address });
        return { redirect: redirectUrl, cookies: [cookie(JOIN_COOKIE, browserSecret, SIGN_IN_SECONDS)] };
      } catch (error) {
        return failed(error);
      }
    },
    async finishJoin({ request }) {
      const query = new URL(request.url ?? '', 'http://console').search.slice(1);
      try {
        const { guildId } = await auth.finishJoin({ query, browserSecret: readCookie(request, JOIN_COOKIE) ?? '' });
        return { redirect: `/joined?guild=${guildId}`, cookies: [removedCookie(JOIN_COOKIE)] };
      } catch (error) {
        return failed(error);
      }
    },
  };
}
