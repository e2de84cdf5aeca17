import { type Clock, unixSeconds } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, RepeatableWrite, WriteOutcome } from '#kit/postgres/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { RandomBytes } from '#kit/security/base62.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import * as store from '../store/tokens.ts';
import type { MembersEvents } from '../telemetry/members.ts';
import { newCode, newToken, readCode } from './codes.ts';

const PURPOSE = 'verification-token';
const DEFAULT_TTL_SECONDS = 900;
/** Two of them in a row would be a wonder already. */
const MOST_COLLISIONS = 5;

export interface CreatedToken {
  token: string;
  code: string;
  expires_at: number;
}

/** What a caller gives to redeem a token. */
export type Secret = { token: string } | { code: string };

export interface TokensOptions {
  lookup: Pick<GrpcClient<typeof LookupServiceService>, 'getLinks'>;
  database: Queryable;
  idempotency: Idempotency;
  /** Tokens and codes are kept as MACs under its secrets. */
  ring: KeyRing;
  clock: Clock;
  random: RandomBytes;
  events: MembersEvents;
}

/** The tokens with which players prove to own a game account. */
export class VerificationTokens {
  readonly #options: TokensOptions;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /**
   * A token of a chat account; older ones of the same account stay valid. CONFLICT with `details.conflict` if the account
   * is linked.
   */
  create(
    write: RepeatableWrite,
    chatId: string,
    ttlSeconds = DEFAULT_TTL_SECONDS,
  ): Promise<WriteOutcome<CreatedToken>> {
    const { guildId } = write;
    return this.#options.idempotency.afterPreparing(
      write,
      () => this.#refuseLinked(guildId, chatId),
      async (transaction) => {
        const now = this.#options.clock.now();
        const times = { createdAt: new Date(now), expiresAt: new Date(now + ttlSeconds * 1000) };
        const { token, code } = await this.#insert(transaction, guildId, { chatId, ...times });
        this.#options.events.tokenCreated(guildId, chatId);
        return ok({ token, code, expires_at: unixSeconds(times.expiresAt) });
      },
    );
  }

  async #refuseLinked(guildId: string, chatId: string): Promise<void> {
    const { links } = await this.#options.lookup.getLinks({ guildId, chatIds: [chatId], gameIds: [] });
    const [link] = links;
    if (!link) return;
    throw new ApiError('CONFLICT', {
      message: 'The chat account is linked in this guild already',
      details: { conflict: { chat_id: link.chatId, game_id: link.gameId } },
    });
  }

  /** How far a token has come; NOT_FOUND for an unknown one. */
  async status(guildId: string, token: string) {
    const found = await this.find(guildId, { token });
    if (!found) throw new ApiError('NOT_FOUND', { message: 'No such token in this guild' });
    return {
      status: this.#statusOf(found),
      chat_id: found.chatId,
      game_id: found.gameId,
      expires_at: unixSeconds(found.expiresAt),
    };
  }

  /** The guild's token, under whichever of our secrets it was made. */
  find(guildId: string, secret: Secret): Promise<store.TokenRow | undefined> {
    const { database, ring } = this.#options;
    const [by, text] =
      'token' in secret ? (['token', secret.token] as const) : (['code', readCode(secret.code)] as const);
    return store.findToken(database, guildId, by, ring.macs(PURPOSE, text));
  }

  /** Whether it can be redeemed, or will be once an intent lets go of it. */
  isOpen(token: store.TokenRow): boolean {
    return token.operationId !== null || this.#statusOf(token) === 'pending';
  }

  #statusOf({ completedAt, expiresAt }: store.TokenRow): 'pending' | 'completed' | 'expired' {
    if (completedAt) return 'completed';
    return expiresAt.getTime() > this.#options.clock.now() ? 'pending' : 'expired';
  }

  async #insert(
    transaction: Queryable,
    guildId: string,
    row: Pick<store.NewToken, 'chatId' | 'createdAt' | 'expiresAt'>,
  ): Promise<{ token: string; code: string }> {
    const { ring, random } = this.#options;
    for (let attempt = 0; attempt < MOST_COLLISIONS; attempt++) {
      const [token, code] = [newToken(random), newCode(random)];
      const macs = { tokenMac: ring.mac(PURPOSE, token), codeMac: ring.mac(PURPOSE, code) };
      if (await store.insertToken(transaction, guildId, { ...row, ...macs })) return { token, code };
    }
    throw new ApiError('INTERNAL', { cause: new Error(`${MOST_COLLISIONS} codes in a row were taken`) });
  }
}
