import { unixSeconds } from '#kit/clock.ts';
import { type LogEntry, moderatorOf, type Punishment, scopeOf } from '../domain/punishment.ts';
import type { ShieldEntry } from '../domain/shield-entry.ts';

const secondsOrNull = (time: Date | null) => (time === null ? null : unixSeconds(time));

/** Returns the fields of a REST response that name the moderator of a punishment or of a log entry. */
function deciderView({ moderatorGameId, moderatorChatId }: Pick<Punishment, 'moderatorGameId' | 'moderatorChatId'>) {
  return { moderator_game_id: moderatorGameId, moderator_chat_id: moderatorChatId };
}

/** Converts a ban or mute, with all fields, to its form in REST responses. */
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

/**
 * Builds the data of the response to an unban or unmute, which may lift several punishments: the most important one
 * with all its fields, and the number of lifted ones.
 */
export function liftedPunishmentView(punishment: Punishment, liftedAt: Date, count: number) {
  return { ...punishmentView(punishment), lifted_at: unixSeconds(liftedAt), lifted_count: count };
}

/** Converts a lifted punishment to its form in events. */
export function liftedPunishmentEventView(punishment: Punishment, liftedAt: Date) {
  return { ...punishmentView(punishment), lifted_at: unixSeconds(liftedAt) };
}

/** Converts a lifted punishment to its form in a list of changes. */
export function liftedChangeView({ id, gameId, placeId, liftedAt }: Punishment & { liftedAt: Date }) {
  return { id, game_id: gameId, scope: scopeOf(placeId), place_id: placeId, lifted_at: unixSeconds(liftedAt) };
}

/** Converts an entry of the moderation log to its form in REST responses. */
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

/** Returns the fields of a ban or mute that a status response shows. */
function infoView({ reason, createdAt, expiresAt }: Punishment) {
  return {
    reason,
    created_at: unixSeconds(createdAt),
    expires_at: secondsOrNull(expiresAt),
    is_permanent: expiresAt === null,
  };
}

export const banInfoView = (ban: Punishment) => ({ ...infoView(ban), banned_by: moderatorOf(ban) });
export const muteInfoView = (mute: Punishment) => ({ ...infoView(mute), muted_by: moderatorOf(mute) });

/**
 * Converts an entry of the list of flagged players to its form in REST responses. Clients do not see which operator
 * added the entry.
 */
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

/** Converts an entry of the guild's own flagged list to its form in the response to the guild that added it. */
export const ownShieldView = (entry: ShieldEntry) => ({
  ...shieldView(entry),
  expires_at: secondsOrNull(entry.expiresAt),
});
