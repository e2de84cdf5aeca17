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
/** The permissions that a person who joins a guild gives: to read the person's account, and to add it to the guild. */
const JOIN_SCOPE = 'identify guilds.join';

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
  const client = chatClient(config);
  if (!client) return undefined;
  const { url, complete } = client;
  const discord = new DiscordOAuth({ ...options, config: complete, redirectUri: redirectUri(url, 'chat') });
  return new ChatSignIn(discord, CHAT_LABEL);
}

/** Creates the client with which persons let the bot's application add them to a guild; undefined if it is not configured. */
export function joinClient(config: AuthConfig, given: PlatformOptions): DiscordOAuth | undefined {
  const client = chatClient(config);
  return (
    client &&
    new DiscordOAuth({
      deadlineMs: DEADLINE_MS,
      ...given,
      fetch: platformFetch(config),
      config: client.complete,
      redirectUri: `${client.url}/console/join/callback`,
      scope: JOIN_SCOPE,
      name: 'chat-oauth-joins',
    })
  );
}

/** Returns the configuration of the OAuth client at the chat platform, if it is complete. */
function chatClient(config: AuthConfig) {
  const { CONSOLE_URL: url, CHAT_OAUTH_CLIENT_ID, CHAT_OAUTH_CLIENT_SECRET } = config;
  if (!url || !CHAT_OAUTH_CLIENT_ID || !CHAT_OAUTH_CLIENT_SECRET) return undefined;
  return { url, complete: { ...config, CHAT_OAUTH_CLIENT_ID, CHAT_OAUTH_CLIENT_SECRET } };
}

function openIdProvider(config: AuthConfig, options: PlatformOptions): SignInProvider | undefined {
  const { CONSOLE_URL: url, OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_LABEL: label } = config;
  if (!url || !OIDC_ISSUER || !OIDC_CLIENT_ID || !OIDC_CLIENT_SECRET) return undefined;
  const complete = { ...config, OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET };
  const provider = new OpenIdProvider({ ...options, config: complete, redirectUri: redirectUri(url, 'oidc') });
  return new OpenIdSignIn(provider, label);
}
