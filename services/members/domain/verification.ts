import { ApiError } from '#kit/errors.ts';
import type { IdempotentWrite } from '#kit/postgres/idempotency/idempotency.ts';
import type { GamePlatform } from '#platforms/game.ts';
import type { MembersTelemetry } from '../telemetry/members.ts';
import type { ChangeViews, LinkChanges } from './changes.ts';
import type { Secret, VerificationTokens } from './tokens.ts';

export interface VerificationOptions<Views extends ChangeViews> {
  tokens: VerificationTokens;
  changes: LinkChanges<Views>;
  game: GamePlatform;
  telemetry: MembersTelemetry;
}

/** Redeems verification tokens, links accounts and unlinks them. */
export class Verification<Views extends ChangeViews> {
  readonly #tokens: VerificationTokens;
  readonly #changes: LinkChanges<Views>;
  readonly #game: GamePlatform;
  readonly #telemetry: MembersTelemetry;

  constructor({ tokens, changes, game, telemetry }: VerificationOptions<Views>) {
    this.#tokens = tokens;
    this.#changes = changes;
    this.#game = game;
    this.#telemetry = telemetry;
  }

  /**
   * Redeems a verification token: links the token's chat account to the player. Throws NOT_FOUND if the token or code
   * is wrong, used, expired or of another guild, and CONFLICT if either account is linked already.
   */
  redeem(write: IdempotentWrite, secret: Secret, player: { gameId: number; gameUsername: string }) {
    return this.#changes.perform(write, async () => {
      const token = await this.#tokens.find(write.guildId, secret);
      if (!token || !this.#tokens.isOpen(token)) {
        this.#telemetry.secretRejected(write.guildId, player.gameId);
        throw new ApiError('NOT_FOUND', { message: 'The code is wrong, used or expired' });
      }
      return { kind: 'redeem', chatId: token.chatId, tokenId: token.id, ...player };
    });
  }

  /**
   * Links a chat account and a game account. If no username is given, reads it from the game platform. Throws
   * INVALID_TARGET if the game platform has no such user, and CONFLICT if either account is linked already.
   */
  link(write: IdempotentWrite, link: { chatId: string; gameId: number; gameUsername: string | undefined }) {
    return this.#changes.perform(write, async () => {
      const gameUsername = link.gameUsername ?? (await this.#nameOf(link.gameId));
      return { kind: 'link', chatId: link.chatId, gameId: link.gameId, gameUsername, tokenId: null };
    });
  }

  /** Removes the link of a chat account or of a game account. Throws NOT_FOUND if the account is not linked. */
  unlink(write: IdempotentWrite, { chatId, gameId }: { chatId: string | undefined; gameId: number | undefined }) {
    return this.#changes.perform(write, async () => ({
      kind: 'unlink',
      chatId: chatId ?? null,
      gameId: gameId ?? null,
      gameUsername: null,
      tokenId: null,
    }));
  }

  async #nameOf(gameId: number): Promise<string> {
    const user = await this.#game.user(gameId);
    if (user) return user.name;
    throw new ApiError('INVALID_TARGET', {
      message: 'The game platform has no such user',
      details: { errors: [{ path: 'body.game_id', message: 'is no user of the game platform' }] },
    });
  }
}
