import { z } from 'zod';
import { type Clock, unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { currentOperator } from '#kit/grpc/operators.ts';
import { checked } from '#kit/http/validate.ts';
import type { ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { reasonText } from '#proto/rest/moderation/schemas.ts';
import { gameId, guildId, text } from '#proto/rest/schemas.ts';
import type { Shield } from '../domain/shield.ts';
import { ALL_GUILDS } from '../domain/shield-entry.ts';
import { orNull } from './schemas.ts';
import { flaggedEntryMessage } from './views.ts';

/**
 * The maximum expiry time: the end of the year 9999, in Unix seconds. A greater number was probably meant as
 * milliseconds.
 */
const MAX_TIMESTAMP = 253_402_300_799;
const MAX_PAGE_SIZE = 1_000;
const FUTURE_ERROR = 'must be Unix seconds in the future';

const listOwner = z.union([z.literal('').transform(() => ALL_GUILDS), guildId]);
/**
 * The actor that guildctl sends, which the auth service writes to its audit log. The entry itself names the
 * authenticated operator.
 */
const actor = text(1, 100);
const label = text(1, 50);

/**
 * Returns the schema of a new entry of the flagged list. Its field names are those of the .proto file, because guildctl
 * derives its option names from the paths of validation errors.
 */
const addEntry = (now: number) =>
  z.object({
    guild_id: listOwner,
    game_id: gameId,
    game_username: orNull(text(1, 50)),
    reason: reasonText,
    category: label,
    source: label.default('operator'),
    expires_at: orNull(
      z
        .int()
        .min(unixSeconds(now) + 1, { error: FUTURE_ERROR })
        .max(MAX_TIMESTAMP, { error: FUTURE_ERROR }),
    ),
    actor,
  });
const removeEntry = z.object({ guild_id: listOwner, game_id: gameId, actor });
const listEntries = z.object({
  guild_id: listOwner,
  limit: z.int().min(1).max(MAX_PAGE_SIZE),
  after_game_id: z.int().min(0),
});

/** The gRPC methods of guild.moderation.v1.ShieldAdminService. */
export function shieldMethods(shield: Shield, clock: Clock): GrpcHandlers<typeof ShieldAdminServiceService> {
  return {
    async addEntry({ guildId: guild, gameId: game, gameUsername, expiresAt, ...message }) {
      const renamed = { guild_id: guild, game_id: game, game_username: gameUsername, expires_at: expiresAt };
      const request = checked(addEntry(clock.now()), { ...message, ...renamed }, 'request');
      const { guild_id, game_id, game_username, expires_at, ...entry } = request;
      const added = await shield.add({
        ...entry,
        actor: currentOperator(),
        guildId: guild_id,
        gameId: game_id,
        gameUsername: game_username,
        expiresAt: expires_at === null ? null : new Date(expires_at * 1000),
      });
      return { entry: flaggedEntryMessage(added) };
    },
    async removeEntry({ guildId: guild, gameId: game, actor: note }) {
      const request = checked(removeEntry, { guild_id: guild, game_id: game, actor: note }, 'request');
      return { entry: flaggedEntryMessage(await shield.remove(request.guild_id, request.game_id, currentOperator())) };
    },
    async listEntries({ guildId: guild, limit, afterGameId }) {
      const request = checked(listEntries, { guild_id: guild, limit, after_game_id: afterGameId }, 'request');
      const entries = await shield.list(request.guild_id, request.limit, request.after_game_id);
      return { entries: entries.map(flaggedEntryMessage) };
    },
  };
}
