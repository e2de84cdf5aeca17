import { asApiError, isServerError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { ConsoleServiceService, FinishSignInResponse } from '#proto/gen/guild/auth/v1/console.ts';
import { cookie, readCookie, removedCookie, SESSION_COOKIE, SIGN_IN_COOKIE } from './cookies.ts';
import type { ConsoleHandlers, EndpointRequest } from './endpoint.ts';

export type AuthClient = GrpcClient<typeof ConsoleServiceService>;

/** How long a person may take to sign in with a provider. */
export const SIGN_IN_SECONDS = 600;
/** The longest life of a session. Auth ends it earlier when it is not used. */
const SESSION_SECONDS = 7 * 24 * 3600;

export interface SignInParts {
  auth: AuthClient;
  /** For calls during which auth makes several calls itself. */
  slowAuth: AuthClient;
  log: Logger;
}

type SignInHandlers = Pick<ConsoleHandlers, 'listProviders' | 'startSignIn' | 'finishSignIn' | 'useLink'>;

/** Returns the handlers of the endpoints with which a person signs in. */
export function signInHandlers({ auth, slowAuth, log }: SignInParts): SignInHandlers {
  /** Signing in always replaces the session of the browser, and ends the previous one. */
  const cookiesOf = (session: FinishSignInResponse, { caller, request }: EndpointRequest) => {
    const previous = readCookie(request, SESSION_COOKIE);
    if (previous) {
      auth
        .endSessions({ caller: { ...caller, sessionToken: previous }, sessionId: '', all: false })
        .catch(() => undefined);
    }
    return [cookie(SESSION_COOKIE, session.sessionToken, SESSION_SECONDS), removedCookie(SIGN_IN_COOKIE)];
  };
  return {
    async listProviders() {
      return { data: { providers: (await auth.listProviders({})).providers } };
    },
    async startSignIn({ params: { provider }, query, caller }) {
      const returnTo = localPath(query.return_to);
      const { redirectUrl, browserSecret } = await auth.startSignIn({ provider, returnTo, address: caller.address });
      return { redirect: redirectUrl, cookies: [cookie(SIGN_IN_COOKIE, browserSecret, SIGN_IN_SECONDS)] };
    },
    async finishSignIn(endpoint) {
      const { params, caller, userAgent, request } = endpoint;
      const { provider } = params;
      const query = new URL(request.url ?? '', 'http://console').search.slice(1);
      const browserSecret = readCookie(request, SIGN_IN_COOKIE) ?? '';
      try {
        const session = await slowAuth.finishSignIn({
          provider,
          query,
          browserSecret,
          address: caller.address,
          userAgent,
        });
        log.info({ provider }, 'person signed in');
        return { redirect: localPath(session.returnTo), cookies: cookiesOf(session, endpoint) };
      } catch (thrown) {
        const error = asApiError(thrown);
        if (isServerError(error)) log.error({ err: error, provider }, 'sign-in failed');
        else log.info({ rejection: error.code, provider }, 'sign-in rejected');
        return { redirect: `/sign-in?error=${error.code}`, cookies: [removedCookie(SIGN_IN_COOKIE)] };
      }
    },
    async useLink(endpoint) {
      const { body, caller, userAgent } = endpoint;
      const session = await auth.useLink({ linkToken: body.token, address: caller.address, userAgent });
      log.info({ provider: 'link' }, 'person signed in');
      return { data: { return_to: localPath(session.returnTo) }, cookies: cookiesOf(session, endpoint) };
    },
  };
}

/** Returns a path of the console; `/` for anything with which a browser could leave it. */
function localPath(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path) ? path : '/';
}
