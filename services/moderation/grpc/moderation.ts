import { z } from 'zod';
import { type Clock, unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { currentOperator } from '#kit/grpc/operators.ts';
import { checked } from '#kit/http/validate.ts';
import { type RepeatableWrite, Replay, type WriteOutcome } from '#kit/postgres/idempotency.ts';
import type { ShieldEntry as EntryMessage, ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import type {
  ModerationServiceService,
  Punishment as PunishmentMessage,
} from '#proto/gen/guild/moderation/v1/moderation.ts';
import { LONGEST_SECONDS, reasonText } from '#proto/rest/moderation/schemas.ts';
import { batch, chatId, gameId, guildId, text } from '#proto/rest/schemas.ts';
import { namedServerId } from '#proto/rest/server-id.ts';
import type { Decisions } from '../domain/decisions.ts';
import type { Punishment } from '../domain/punishment.ts';
import { ALL_GUILDS, type Shield, type ShieldEntry } from '../domain/shield.ts';
import type { Standings } from '../domain/standings.ts';

const kind = z.enum(['ban', 'mute'], { error: 'must be ban or mute' });
const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.optional().transform((value) => value ?? null);

const decider = {
  moderatorGameId: orNull(gameId),
  moderatorChatId: orNull(chatId),
  sourceServerId: orNull(namedServerId),
};

const getStatus = z.object({
  guildId,
  gameIds: batch(gameId),
  placeId: orNull(gameId),
  noCache: z.boolean(),
});
const punish = z.object({
  guildId,
  kind,
  gameId,
  gameUsername: orNull(text(1, 50)),
  reason: reasonText,
  durationSeconds: orNull(z.int().min(1).max(LONGEST_SECONDS)),
  placeId: orNull(gameId),
  replace: z.boolean(),
  ...decider,
});
const lift = z
  .object({
    guildId,
    kind,
    gameId,
    reason: orNull(reasonText),
    scope: z.enum(['global', 'place'], { error: 'must be global or place' }).optional(),
    placeId: orNull(gameId),
    ...decider,
  })
  .refine(({ scope, placeId }) => (scope === 'place') === (placeId !== null), {
    path: ['placeId'],
    error: 'goes with scope place, which needs it',
  });

/** The methods of guild.moderation.v1.ModerationService. */
export function moderationMethods(
  standings: Standings,
  decisions: Decisions,
  clock: Clock,
): GrpcHandlers<typeof ModerationServiceService> {
  return {
    async getStatus(message) {
      const found = await standings.find(checked(getStatus, message, 'request'));
      const now = clock.now();
      const players = [...found].map(([gameId, standing]) => {
        const [ban, mute] = [standing.punishment('ban', now), standing.punishment('mute', now)];
        return {
          gameId,
          ban: ban && punishmentMessage(ban),
          mute: mute && punishmentMessage(mute),
          flagged: standing.entry(now) !== undefined,
        };
      });
      return { players };
    },
    async punish(message) {
      const { guildId, replace, ...punishment } = checked(punish, message, 'request');
      const made = await decisions.punish(unrepeated(guildId), punishment, replace, punishmentMessage);
      return { punishment: dataOf(made) };
    },
    async lift(message) {
      const { guildId, scope, placeId, ...asked } = checked(lift, message, 'request');
      const place = scope === undefined ? undefined : placeId;
      const lifted = await decisions.lift(unrepeated(guildId), { ...asked, placeId: place }, punishmentMessage);
      return { punishment: dataOf(lifted) };
    },
  };
}

/** Repeating is safe without a key: a second ban is a CONFLICT, a second unban NOT_FOUND. */
const unrepeated = (guildId: string): RepeatableWrite => ({
  guildId,
  method: '',
  path: '',
  key: undefined,
  bodyHash: Buffer.alloc(0),
  status: 200,
  message: '',
});

function dataOf<Data>(outcome: WriteOutcome<Data>): Data {
  if (outcome instanceof Replay) throw new Error('a write without a key has no repeat');
  return outcome.data;
}

/** A ban or mute as it travels over gRPC. */
export function punishmentMessage(punishment: Punishment): PunishmentMessage {
  const { id, gameId, reason, createdAt, expiresAt } = punishment;
  return {
    id,
    gameId,
    gameUsername: punishment.gameUsername ?? undefined,
    reason,
    moderatorGameId: punishment.moderatorGameId ?? undefined,
    moderatorChatId: punishment.moderatorChatId ?? undefined,
    placeId: punishment.placeId ?? undefined,
    createdAt: unixSeconds(createdAt),
    expiresAt: expiresAt === null ? undefined : unixSeconds(expiresAt),
    sourceServerId: punishment.sourceServerId ?? undefined,
  };
}

/** The end of the year 9999: what lies beyond was meant as milliseconds. */
const LATEST = 253_402_300_799;
const MOST_ENTRIES = 1_000;

const listOwner = z.union([z.literal('').transform(() => ALL_GUILDS), guildId]);
const actor = text(1, 100);
const label = text(1, 50);
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
        .min(unixSeconds(now) + 1, { error: 'must be Unix seconds in the future' })
        .max(LATEST, { error: 'must be Unix seconds in the future' }),
    ),
    actor,
  });
const removeEntry = z.object({ guild_id: listOwner, game_id: gameId, actor });
const listEntries = z.object({
  guild_id: listOwner,
  limit: z.int().min(1).max(MOST_ENTRIES),
  after_game_id: z.int().min(0),
});

/** The methods of guild.moderation.v1.ShieldAdminService. */
export function shieldMethods(shield: Shield, clock: Clock): GrpcHandlers<typeof ShieldAdminServiceService> {
  return {
    async addEntry({ guildId, gameId, gameUsername, expiresAt, ...rest }) {
      const named = { guild_id: guildId, game_id: gameId, game_username: gameUsername, expires_at: expiresAt };
      const asked = checked(addEntry(clock.now()), { ...rest, ...named }, 'request');
      const { guild_id, game_id, game_username, expires_at, ...entry } = asked;
      const added = await shield.add({
        ...entry,
        // As authenticated; what the request says is a note in the audit.
        actor: currentOperator(),
        guildId: guild_id,
        gameId: game_id,
        gameUsername: game_username,
        expiresAt: expires_at === null ? null : new Date(expires_at * 1000),
      });
      return { entry: entryMessage(added) };
    },
    async removeEntry({ guildId, gameId, actor }) {
      const asked = checked(removeEntry, { guild_id: guildId, game_id: gameId, actor }, 'request');
      return { entry: entryMessage(await shield.remove(asked.guild_id, asked.game_id, currentOperator())) };
    },
    async listEntries({ guildId, limit, afterGameId }) {
      const asked = checked(listEntries, { guild_id: guildId, limit, after_game_id: afterGameId }, 'request');
      const entries = await shield.list(asked.guild_id, asked.limit, asked.after_game_id);
      return { entries: entries.map(entryMessage) };
    },
  };
}

function entryMessage(entry: ShieldEntry): EntryMessage {
  const { guildId, gameId, gameUsername, flaggedAt, expiresAt, reason, category, source, actor } = entry;
  return {
    guildId: guildId === ALL_GUILDS ? '' : guildId,
    gameId,
    gameUsername: gameUsername ?? undefined,
    reason,
    category,
    source,
    flaggedAt: unixSeconds(flaggedAt),
    expiresAt: expiresAt === null ? undefined : unixSeconds(expiresAt),
    actor,
  };
}
