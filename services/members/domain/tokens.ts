import { type Clock, unixSeconds } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { RandomBytes } from '#kit/security/base62.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import * as store from '../store/tokens.ts';
import type { MembersTelemetry } from '../telemetry/members.ts';
import { newCode, newToken, readCode } from './codes.ts';
import { findLink } from './links.ts';

const PURPOSE = 'verification-token';
const DEFAULT_TTL_SECONDS = 900;
/**
 * The maximum number of attempts to insert a random token and code that the guild does not have yet. Even two
 * collisions in a row are very improbable.
 */
const MAX_COLLISIONS = 5;

export interface CreatedToken {
  token: string;
  code: string;
  expires_at: number;
}

/** The secret with which a verification token is redeemed: the token itself or its short code. */
export type Secret = { token: string } | { code: string };

export interface TokensOptions {
  lookup: Pick<GrpcClient<typeof LookupServiceService>, 'getLinks'>;
  database: Queryable;
  idempotency: Idempotency;
  /** Keys for MACs. Verification tokens and codes are stored only as MACs with these keys. */
  ring: KeyRing;
  clock: Clock;
  random: RandomBytes;
  telemetry: MembersTelemetry;
}

/** Creates and finds the verification tokens with which players prove that they own a game account. */
export class VerificationTokens {
  readonly #options: TokensOptions;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /**
   * Creates a verification token for a chat account. Older tokens of the account stay valid. Throws CONFLICT with
   * `details.conflict` if the account is linked already.
   */
  create(
    write: IdempotentWrite,
    chatId: string,
    ttlSeconds = DEFAULT_TTL_SECONDS,
  ): Promise<WriteOutcome<CreatedToken>> {
    const { guildId } = write;
    return this.#options.idempotency.afterPreparing(
      write,
      () => this.#requireUnlinked(guildId, chatId),
      async (transaction) => {
        const now = this.#options.clock.now();
        const times = { createdAt: new Date(now), expiresAt: new Date(now + ttlSeconds * 1000) };
        const { token, code } = await this.#insert(transaction, guildId, { chatId, ...times });
        this.#options.telemetry.tokenCreated(guildId, chatId);
        return ok({ token, code, expires_at: unixSeconds(times.expiresAt) });
      },
    );
  }

  async #requireUnlinked(guildId: string, chatId: string): Promise<void> {
    const link = await findLink(this.#options.lookup, guildId, { chatId, gameId: undefined });
    if (!link) return;
    throw new ApiError('CONFLICT', {
      message: 'The chat account is linked in this guild already',
      details: { conflict: { chat_id: link.chatId, game_id: link.gameId } },
    });
  }

  /** Returns the status of a verification token. Throws NOT_FOUND for an unknown token. */
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

  /**
   * Finds a guild's verification token by its token or code. Tries every key of the ring, because the keys may have
   * been rotated since the token was created.
   */
  find(guildId: string, secret: Secret): Promise<store.TokenRow | undefined> {
    const { database, ring } = this.#options;
    const [by, text] =
      'token' in secret ? (['token', secret.token] as const) : (['code', readCode(secret.code)] as const);
    return store.findToken(database, guildId, by, ring.macs(PURPOSE, text));
  }

  /** Returns true if the token can be redeemed, or could be if the link change that has reserved it fails. */
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
    for (let attempt = 0; attempt < MAX_COLLISIONS; attempt++) {
      const [token, code] = [newToken(random), newCode(random)];
      const macs = { tokenMac: ring.mac(PURPOSE, token), codeMac: ring.mac(PURPOSE, code) };
      if (await store.insertToken(transaction, guildId, { ...row, ...macs })) return { token, code };
    }
    throw new ApiError('INTERNAL', { cause: new Error(`${MAX_COLLISIONS} codes in a row were in use`) });
  }
}
