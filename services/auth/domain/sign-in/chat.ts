import { z } from 'zod';
import { ApiError } from '#kit/errors.ts';
import type { DiscordOAuth, OwnGuild } from '#platforms/discord/oauth.ts';
import type { OAuthTokens, SignInSecrets } from '#platforms/oauth/client.ts';
import type { PlatformGuild, PlatformRights, SignedInPerson } from '../console/identity.ts';
import type { SignInProvider } from './provider.ts';
import { tokensSchema } from './tokens.ts';

const credentialsSchema = z.object({ tokens: tokensSchema });

/** Signing in with an account of the chat platform, whose owners and managers of guilds have a role here. */
export class ChatSignIn implements SignInProvider {
  readonly name = 'chat';
  readonly label: string;
  readonly #discord: DiscordOAuth;

  constructor(discord: DiscordOAuth, label: string) {
    this.#discord = discord;
    this.label = label;
  }

  authorizationUrl(secrets: SignInSecrets): Promise<string> {
    return this.#discord.authorizationUrl(secrets);
  }

  async signIn(query: string, secrets: SignInSecrets): Promise<SignedInPerson> {
    const tokens = await this.#discord.exchange(query, secrets);
    const [account, own] = await Promise.all([this.#discord.account(tokens.access), this.#discord.guilds(tokens)]);
    if (!own) throw new ApiError('PLATFORM_ERROR', { message: 'The chat platform rejects its own token' });
    return { id: account.id, name: account.name, provider: 'chat', ...rightsOf(own) };
  }

  async read(credentials: Buffer): Promise<PlatformRights | undefined> {
    const { tokens } = credentialsSchema.parse(JSON.parse(credentials.toString()));
    const own = await this.#discord.guilds(tokens);
    return own && rightsOf(own);
  }
}

function rightsOf({ guilds, tokens }: { guilds: readonly OwnGuild[]; tokens: OAuthTokens }): PlatformRights {
  const credentials = Buffer.from(JSON.stringify({ tokens } satisfies z.output<typeof credentialsSchema>));
  return { guilds: guilds.flatMap(roleIn), isOperator: false, credentials };
}

function roleIn({ id, name, isOwner, isManager }: OwnGuild): PlatformGuild[] {
  if (!isOwner && !isManager) return [];
  return [{ guildId: id, name, role: isOwner ? 'owner' : 'admin' }];
}
