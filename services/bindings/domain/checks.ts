import type { Clock } from '#kit/clock.ts';
import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { GameGroup, GamePlatform } from '#platforms/game.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { type Target, targetsOf } from './binding.ts';
import type { Bindings } from './bindings.ts';
import { loadFacts } from './facts.ts';
import { evaluateBinding, evaluateRank, type Facts, OUTSIDE_RANK, type TargetVerdict } from './rules.ts';

/** The milliseconds after which a test with several conditions fails. */
const TEST_MS = 5_500;

export interface ChecksOptions {
  bindings: Bindings;
  game: GamePlatform;
  lookup: GrpcClient<typeof LookupServiceService>;
  clock: Clock;
}

/** Tests a role binding with a member, and checks the fields of a planned binding, without changing anything. */
export class Checks {
  readonly #bindings: Bindings;
  readonly #game: GamePlatform;
  readonly #lookup: GrpcClient<typeof LookupServiceService>;
  readonly #clock: Clock;

  constructor({ bindings, game, lookup, clock }: ChecksOptions) {
    this.#clock = clock;
    this.#bindings = bindings;
    this.#game = game;
    this.#lookup = lookup;
  }

  /**
   * Tests if a member matches a binding to a rank, or one that only depends on the link. Throws NOT_FOUND if there is no
   * such binding or the member is not verified, INVALID_REQUEST for a binding of another type, and the errors of the game
   * platform.
   */
  async test(guildId: string, bindingId: number, chatId: string): Promise<TargetVerdict> {
    const binding = await this.#bindings.get(guildId, bindingId);
    const [target, ...others] = targetsOf(binding);
    if (target.kind !== 'rank' && target.kind !== 'link') {
      const message = 'must be a binding of type group_rank, verified or unverified';
      throw invalidRequest([{ path: 'body.binding_id', message }]);
    }
    const { links } = await this.#lookup.getLinks({ guildId, chatIds: [chatId], gameIds: [] });
    const [link] = links;
    if (!link && target.kind === 'rank') {
      throw new ApiError('NOT_FOUND', { message: 'The member is not verified in this guild' });
    }
    if (target.kind === 'rank' && link && others.length === 0) return this.#testRank(target, link.gameId);
    const member = { chatId, gameId: link?.gameId ?? null };
    const [facts] = await loadFacts([member], [target, ...others], {
      game: this.#game,
      deadlineMs: TEST_MS,
    });
    const verdict = evaluateBinding(binding, facts as Facts, this.#clock.now());
    if (verdict.verdict === 'unknown' && facts?.isIncomplete) {
      throw new ApiError('PLATFORM_ERROR', { message: 'The game platform did not return the data of the member' });
    }
    return verdict;
  }

  async #testRank(target: Extract<Target, { kind: 'rank' }>, gameId: number): Promise<TargetVerdict> {
    const ranks = await this.#game.ranksIn(gameId, target.groupId);
    return evaluateRank(target, new Map(ranks.length > 0 ? [[target.groupId, ranks]] : []));
  }

  /**
   * Returns the group of a planned role binding, and the reason why such a binding is not possible, if any. Throws the
   * errors of the game platform.
   */
  async validate(
    groupId: number,
    { min, max }: { min: number; max: number },
  ): Promise<{ group: GameGroup | null; reason?: string }> {
    const group = await this.#game.group(groupId);
    if (!group) return { group, reason: `the game platform has no group ${groupId}` };
    const ranks = [OUTSIDE_RANK, ...group.roles.map(({ rank }) => rank)];
    if (ranks.some((rank) => rank >= min && rank <= max)) return { group };
    return { group, reason: `${group.name} has no role with a rank from ${min} to ${max}` };
  }
}
