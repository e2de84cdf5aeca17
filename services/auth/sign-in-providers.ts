import { DiscordOAuth } from '#platforms/discord/oauth.ts';
import { platformFetch } from '#platforms/http/fetch.ts';
import type { PlatformOptions } from '#platforms/http/host.ts';
import { OpenIdProvider } from '#platforms/oidc/oidc.ts';
import type { AuthConfig } from './config.ts';
import { ChatSignIn } from './domain/sign-in/chat.ts';
import { OpenIdSignIn } from './domain/sign-in/open-id.ts';
import type { SignInProvider } from './domain/sign-in/provider.ts';

/** The deadline of each call to a provider. A sign-in makes two calls in a row at the chat platform, and up to four at others. */
const DEADLINE_MS = 2_500;
const CHAT_LABEL = 'Discord';

/** Creates the providers whose variables are set, in the order in which the sign-in page shows them. */
export function signInProviders(config: AuthConfig, given: PlatformOptions): SignInProvider[] {
  const direct = { deadlineMs: DEADLINE_MS, ...given };
  const proxied = { ...direct, fetch: platformFetch(config) };
  const all = [chatProvider(config, proxied), openIdProvider(config, config.OIDC_THROUGH_PROXY ? proxied : direct)];
  return all.filter((provider) => provider !== undefined);
}

const redirectUri = (consoleUrl: string, provider: SignInProvider['name']) =>
  `${consoleUrl}/console/sign-in/${provider}/callback`;

function chatProvider(config: AuthConfig, options: PlatformOptions): SignInProvider | undefined {
  const { CONSOLE_URL: url, CHAT_OAUTH_CLIENT_ID, CHAT_OAUTH_CLIENT_SECRET } = config;
  if (!url || !CHAT_OAUTH_CLIENT_ID || !CHAT_OAUTH_CLIENT_SECRET) return undefined;
  const complete = { ...config, CHAT_OAUTH_CLIENT_ID, CHAT_OAUTH_CLIENT_SECRET };
  const discord = new DiscordOAuth({ ...options, config: complete, redirectUri: redirectUri(url, 'chat') });
  return new ChatSignIn(discord, CHAT_LABEL);
}

function openIdProvider(config: AuthConfig, options: PlatformOptions): SignInProvider | undefined {
  const { CONSOLE_URL: url, OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_LABEL: label } = config;
  if (!url || !OIDC_ISSUER || !OIDC_CLIENT_ID || !OIDC_CLIENT_SECRET) return undefined;
  const complete = { ...config, OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET };
  const provider = new OpenIdProvider({ ...options, config: complete, redirectUri: redirectUri(url, 'oidc') });
  return new OpenIdSignIn(provider, label);
}
