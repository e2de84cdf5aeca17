import { unixSeconds } from '#kit/clock.ts';
import type { DeliverDecisionRequest } from '#proto/gen/guild/activity/v1/commands.ts';
import type { LogEntry as LogMessage, ShieldEntry as ShieldMessage } from '#proto/gen/guild/moderation/v1/admin.ts';
import type { Punishment as PunishmentMessage } from '#proto/gen/guild/moderation/v1/moderation.ts';
import { type LogEntry, moderatorOf, type Punishment, scopeOf } from '../domain/punishment.ts';
import { ALL_GUILDS, type ShieldEntry } from '../domain/shield-entry.ts';
import type { Delivery } from '../store/outbox.ts';

/** Converts a ban or mute to its gRPC message. */
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

/** Converts an entry of the moderation log to its gRPC message. */
export function logMessage(entry: LogEntry): LogMessage {
  const { id, action, reason, moderatorGameId, moderatorChatId, placeId, expiresAt, createdAt } = entry;
  return {
    id,
    action,
    reason: reason ?? undefined,
    moderatorGameId: moderatorGameId ?? undefined,
    moderatorChatId: moderatorChatId ?? undefined,
    placeId: placeId ?? undefined,
    expiresAt: expiresAt === null ? undefined : unixSeconds(expiresAt),
    createdAt: unixSeconds(createdAt),
  };
}

/** Converts an entry of the list of flagged players to its gRPC message. */
export function flaggedEntryMessage(entry: ShieldEntry): ShieldMessage {
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

/**
 * Builds the gRPC request that delivers a moderation decision (such as a ban) to the activity service. Its `payload` is
 * the JSON that game servers receive.
 */
export function decisionMessage(delivery: Delivery): DeliverDecisionRequest {
  const { action, gameId, gameUsername, placeId, expiresAt } = delivery;
  const expiresAtSeconds = expiresAt === null ? undefined : unixSeconds(expiresAt);
  const isLift = action === 'unban' || action === 'unmute';
  const duration = {
    duration_seconds: delivery.durationSeconds,
    expires_at: expiresAtSeconds ?? null,
    is_permanent: expiresAt === null,
  };
  const payload = {
    id: delivery.punishmentId,
    reason: delivery.reason,
    scope: scopeOf(placeId),
    place_id: placeId,
    moderator_game_id: delivery.moderatorGameId,
    moderator_chat_id: delivery.moderatorChatId,
    ...(isLift ? {} : duration),
  };
  return {
    guildId: delivery.guildId,
    eventId: delivery.eventId,
    type: action,
    target: { gameId, gameUsername: gameUsername ?? undefined },
    payload: JSON.stringify(payload),
    issuedBy: moderatorOf(delivery) ?? undefined,
    sourceServerId: delivery.sourceServerId ?? undefined,
    placeId: placeId ?? undefined,
    createdAt: unixSeconds(delivery.createdAt),
    expiresAt: expiresAtSeconds,
  };
}
