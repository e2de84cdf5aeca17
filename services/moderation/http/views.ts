import { unixSeconds } from '#kit/clock.ts';
import type { DeliverDecisionRequest } from '#proto/gen/guild/activity/v1/commands.ts';
import type { LogEntry, Punishment } from '../domain/punishment.ts';
import type { ShieldEntry } from '../domain/shield.ts';
import type { Delivery } from '../store/outbox.ts';

const secondsOrNull = (time: Date | null) => (time === null ? null : unixSeconds(time));
const scopeOf = (placeId: number | null): 'global' | 'place' => (placeId === null ? 'global' : 'place');

/** What ban and mute have in common. */
function deciderView({ moderatorGameId, moderatorChatId }: Pick<Punishment, 'moderatorGameId' | 'moderatorChatId'>) {
  return { moderator_game_id: moderatorGameId, moderator_chat_id: moderatorChatId };
}

/** A ban or mute as it is listed. */
export function punishmentView(punishment: Punishment) {
  const { id, gameId, gameUsername, reason, placeId, createdAt, expiresAt, sourceServerId } = punishment;
  return {
    id,
    game_id: gameId,
    game_username: gameUsername,
    reason,
    ...deciderView(punishment),
    scope: scopeOf(placeId),
    place_id: placeId,
    created_at: unixSeconds(createdAt),
    expires_at: secondsOrNull(expiresAt),
    is_permanent: expiresAt === null,
    source_server_id: sourceServerId,
  };
}

/** The response to a lift: what was lifted, of several the foremost. */
export function liftedPunishmentView(punishment: Punishment, liftedAt: Date, count: number) {
  return { ...punishmentView(punishment), lifted_at: unixSeconds(liftedAt), lifted_count: count };
}

export function liftedView({ id, gameId, placeId, liftedAt }: Punishment & { liftedAt: Date }) {
  return { id, game_id: gameId, scope: scopeOf(placeId), place_id: placeId, lifted_at: unixSeconds(liftedAt) };
}

export function logView(entry: LogEntry) {
  return {
    id: entry.id,
    action: entry.action,
    game_id: entry.gameId,
    game_username: entry.gameUsername,
    reason: entry.reason,
    ...deciderView(entry),
    scope: scopeOf(entry.placeId),
    place_id: entry.placeId,
    duration_seconds: entry.durationSeconds,
    expires_at: secondsOrNull(entry.expiresAt),
    source_server_id: entry.sourceServerId,
    created_at: unixSeconds(entry.createdAt),
  };
}

function infoView({ reason, createdAt, expiresAt }: Punishment) {
  return {
    reason,
    created_at: unixSeconds(createdAt),
    expires_at: secondsOrNull(expiresAt),
    is_permanent: expiresAt === null,
  };
}

/** Chat before game, else null. */
function moderatorOf({ moderatorGameId, moderatorChatId }: Pick<Punishment, 'moderatorGameId' | 'moderatorChatId'>) {
  return moderatorChatId ?? (moderatorGameId === null ? null : String(moderatorGameId));
}

export const banInfoView = (ban: Punishment) => ({ ...infoView(ban), banned_by: moderatorOf(ban) });
export const muteInfoView = (mute: Punishment) => ({ ...infoView(mute), muted_by: moderatorOf(mute) });

export function shieldView({ gameId, gameUsername, reason, category, source, flaggedAt }: ShieldEntry) {
  return {
    game_id: gameId,
    game_username: gameUsername,
    reason,
    category,
    source,
    flagged_at: unixSeconds(flaggedAt),
  };
}

/** What activity makes commands of. */
export function decisionMessage(event: Delivery): DeliverDecisionRequest {
  const { gameId, gameUsername, reason, placeId, expiresAt, durationSeconds } = event;
  const isLift = event.action === 'unban' || event.action === 'unmute';
  const ending = {
    duration_seconds: durationSeconds,
    expires_at: secondsOrNull(expiresAt),
    is_permanent: expiresAt === null,
  };
  const payload = {
    id: event.punishmentId,
    reason,
    scope: scopeOf(placeId),
    place_id: placeId,
    ...deciderView(event),
    ...(isLift ? {} : ending),
  };
  return {
    guildId: event.guildId,
    eventId: event.eventId,
    type: event.action,
    target: { gameId, gameUsername: gameUsername ?? undefined },
    payload: JSON.stringify(payload),
    issuedBy: moderatorOf(event) ?? undefined,
    sourceServerId: event.sourceServerId ?? undefined,
    placeId: placeId ?? undefined,
    createdAt: unixSeconds(event.createdAt),
    expiresAt: expiresAt === null ? undefined : unixSeconds(expiresAt),
  };
}
