import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { GameGroup, GamePlatform } from '#platforms/game.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { targetOf } from './binding.ts';
import type { Bindings } from './bindings.ts';
import { OUTSIDE_RANK, type Weighed, weighRank } from './rules.ts';

/** Tries bindings out; changes nothing. */
export class Checks {
  readonly #bindings: Bindings;
  readonly #game: GamePlatform;
  readonly #lookup: GrpcClient<typeof LookupServiceService>;

  constructor(bindings: Bindings, game: GamePlatform, lookup: GrpcClient<typeof LookupServiceService>) {
    this.#bindings = bindings;
    this.#game = game;
    this.#lookup = lookup;
  }

  /**
   * Whether a member matches a group_rank. NOT_FOUND for an unknown binding and for who is not verified,
   * INVALID_REQUEST for a binding of another type, and the errors of the game platform.
   */
  async test(guildId: string, bindingId: number, chatId: string): Promise<Weighed> {
    const target = targetOf(await this.#bindings.get(guildId, bindingId));
    if (target.kind !== 'rank') {
      throw invalidRequest([{ path: 'body.binding_id', message: 'must be a binding of type group_rank' }]);
    }
    const { links } = await this.#lookup.getLinks({ guildId, chatIds: [chatId], gameIds: [] });
    const [link] = links;
    if (!link) throw new ApiError('NOT_FOUND', { message: 'The member is not verified in this guild' });
    const ranks = await this.#game.ranksIn(link.gameId, target.groupId);
    return weighRank(target, new Map(ranks.length > 0 ? [[target.groupId, ranks]] : []));
  }

  /** The group, where it exists, and why group and range make no sound binding. Errors: the game platform's. */
  async validate(
    groupId: number,
    { min, max }: { min: number; max: number },
  ): Promise<{ group: GameGroup | null; reason?: string }> {
    const group = await this.#game.group(groupId);
    if (!group) return { group, reason: `the game platform knows no group ${groupId}` };
    const ranks = [OUTSIDE_RANK, ...group.roles.map(({ rank }) => rank)];
    if (ranks.some((rank) => rank >= min && rank <= max)) return { group };
    return { group, reason: `${group.name} has no role with a rank from ${min} to ${max}` };
  }
}
