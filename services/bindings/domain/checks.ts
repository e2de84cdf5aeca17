import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { GameGroup, GamePlatform } from '#platforms/game.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { targetOf } from './binding.ts';
import type { Bindings } from './bindings.ts';
import { evaluateRank, OUTSIDE_RANK, type TargetVerdict } from './rules.ts';

export interface ChecksOptions {
  bindings: Bindings;
  game: GamePlatform;
  lookup: GrpcClient<typeof LookupServiceService>;
}

/** Tests a role binding with a member, and checks the fields of a planned binding, without changing anything. */
export class Checks {
  readonly #bindings: Bindings;
  readonly #game: GamePlatform;
  readonly #lookup: GrpcClient<typeof LookupServiceService>;

  constructor({ bindings, game, lookup }: ChecksOptions) {
    this.#bindings = bindings;
    this.#game = game;
    this.#lookup = lookup;
  }

  /**
   * Tests if a member matches a group_rank binding. Throws NOT_FOUND if there is no such binding or the member is not
   * verified, INVALID_REQUEST for a binding of another type, and the errors of the game platform.
   */
  async test(guildId: string, bindingId: number, chatId: string): Promise<TargetVerdict> {
    const target = targetOf(await this.#bindings.get(guildId, bindingId));
    if (target.kind !== 'rank') {
      throw invalidRequest([{ path: 'body.binding_id', message: 'must be a binding of type group_rank' }]);
    }
    const { links } = await this.#lookup.getLinks({ guildId, chatIds: [chatId], gameIds: [] });
    const [link] = links;
    if (!link) throw new ApiError('NOT_FOUND', { message: 'The member is not verified in this guild' });
    const ranks = await this.#game.ranksIn(link.gameId, target.groupId);
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
