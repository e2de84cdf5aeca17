import { z } from 'zod';
import { unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { ConsoleServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import type { SignIn } from '../domain/sign-in/sign-in.ts';

type SignInMethods = 'listProviders' | 'startSignIn' | 'finishSignIn';

const address = z.string().min(1).max(64);
const requests = {
  start: z.object({ provider: z.string().max(20), return_to: z.string(), address }),
  finish: z.object({
    provider: z.string().max(20),
    query: z.string().max(8_192),
    browser_secret: z.string().max(100),
    address,
    // Browsers send long ones; the session stores what fits.
    user_agent: z.string(),
  }),
};

/** The methods of the gRPC service ConsoleService with which persons sign in at a provider. */
export function signInHandlers(signIn: SignIn): Pick<GrpcHandlers<typeof ConsoleServiceService>, SignInMethods> {
  return {
    listProviders: async () => ({ providers: signIn.providers.map(({ name, label }) => ({ name, label })) }),
    startSignIn: async ({ provider, returnTo, address }) => {
      const { return_to, ...request } = checked(requests.start, { provider, return_to: returnTo, address });
      return signIn.start({ ...request, returnTo: return_to });
    },
    finishSignIn: async ({ provider, query, browserSecret, address, userAgent }) => {
      const given = { provider, query, browser_secret: browserSecret, address, user_agent: userAgent };
      const { browser_secret, user_agent, ...request } = checked(requests.finish, given);
      const secrets = { browserSecret: browser_secret, userAgent: user_agent };
      const session = await signIn.finish({ ...request, ...secrets });
      const expiresAt = unixSeconds(session.expiresAt);
      return { sessionToken: session.token, expiresAt, returnTo: session.returnTo };
    },
  };
}
