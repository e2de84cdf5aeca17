import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { DiscordOAuth } from '#platforms/discord/oauth.ts';
import type { JoinServiceService } from '#proto/gen/guild/members/v1/joins.ts';
import type { PendingSignIns, StartedSignIn } from './pending.ts';

/** Rows of this name are no sign-ins: the callback of a sign-in does not find them, and the other way round. */
const NAME = 'join';

export interface JoinsOptions {
  pending: PendingSignIns;
  /** undefined if the installation has no OAuth client at the chat platform. */
  discord: DiscordOAuth | undefined;
  members: GrpcClient<typeof JoinServiceService>;
}

/**
 * Lets persons add their own chat account to a guild. It creates no session: the access token is used once and not stored.
 * Which accounts may join is decided by members.
 */
export class Joins {
  readonly #options: JoinsOptions;

  constructor(options: JoinsOptions) {
    this.#options = options;
  }

  /** Returns where to send the browser. Throws NOT_APPLICABLE if the guild does not let persons join. */
  async start({ guildId, address }: { guildId: string; address: string }): Promise<StartedSignIn> {
    const { pending, members } = this.#options;
    const discord = this.#discord();
    await members.checkJoin({ guildId });
    const authorizationUrl = discord.authorizationUrl.bind(discord);
    return pending.start({ name: NAME, returnTo: guildId, address, authorizationUrl });
  }

  /**
   * Adds the account of the person who returned from the platform, and returns the ID of the guild. Throws INVALID_REQUEST if
   * the state is unknown, used, expired or of another browser, NOT_FOUND if the account is not linked, and NOT_APPLICABLE if
   * the person cancelled or the guild does not allow it.
   */
  async finish(request: { query: string; browserSecret: string }): Promise<string> {
    const { pending, members } = this.#options;
    const discord = this.#discord();
    const { returnTo: guildId, secrets } = await pending.take(NAME, request);
    const { access: accessToken } = await discord.exchange(request.query, secrets);
    const { id: chatId, username } = await discord.account(accessToken);
    await members.addMember({ guildId, chatId, username, accessToken });
    return guildId;
  }

  #discord(): DiscordOAuth {
    const { discord } = this.#options;
    if (discord) return discord;
    throw new ApiError('NOT_APPLICABLE', { message: 'This installation does not let players join' });
  }
}
