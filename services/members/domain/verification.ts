import { ApiError } from '#kit/errors.ts';
import type { RepeatableWrite } from '#kit/postgres/idempotency.ts';
import type { GamePlatform } from '#platforms/game.ts';
import type { MembersEvents } from '../telemetry/members.ts';
import type { LinkChanges } from './changes.ts';
import type { Secret, VerificationTokens } from './tokens.ts';

/** Verifies players, links accounts and unlinks them. */
export class Verification {
  readonly #tokens: VerificationTokens;
  readonly #changes: LinkChanges;
  readonly #game: GamePlatform;
  readonly #events: MembersEvents;

  constructor(tokens: VerificationTokens, changes: LinkChanges, game: GamePlatform, events: MembersEvents) {
    this.#tokens = tokens;
    this.#changes = changes;
    this.#game = game;
    this.#events = events;
  }

  /** NOT_FOUND for a secret that is wrong, used, expired or another guild's; CONFLICT if either side is linked. */
  redeem(write: RepeatableWrite, secret: Secret, player: { gameId: number; gameUsername: string }) {
    return this.#changes.perform(write, async () => {
      const token = await this.#tokens.find(write.guildId, secret);
      if (!token || !this.#tokens.isOpen(token)) {
        this.#events.secretRefused(write.guildId, player.gameId);
        throw new ApiError('NOT_FOUND', { message: 'The code is wrong, used or expired' });
      }
      return { kind: 'redeem', chatId: token.chatId, tokenId: token.id, ...player };
    });
  }

  /** A name that is not given is asked of the game platform; INVALID_TARGET when it knows no such user. */
  link(write: RepeatableWrite, link: { chatId: string; gameId: number; gameUsername: string | undefined }) {
    return this.#changes.perform(write, async () => {
      const gameUsername = link.gameUsername ?? (await this.#nameOf(link.gameId));
      return { kind: 'link', chatId: link.chatId, gameId: link.gameId, gameUsername, tokenId: null };
    });
  }

  /** By one of the two accounts; NOT_FOUND when it is not linked. */
  unlink(write: RepeatableWrite, { chatId, gameId }: { chatId: string | undefined; gameId: number | undefined }) {
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
      message: 'The game platform knows no such user',
      details: { errors: [{ path: 'body.game_id', message: 'is no user of the game platform' }] },
    });
  }
}
