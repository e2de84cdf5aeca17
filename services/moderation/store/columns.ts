/** The columns of a Punishment, for an SQL SELECT or RETURNING. */
export const PUNISHMENT_COLUMNS = `id, kind, game_id AS "gameId", game_username AS "gameUsername", reason,
  moderator_game_id AS "moderatorGameId", moderator_chat_id AS "moderatorChatId", source_server_id AS "sourceServerId",
  NULLIF(place_id, 0) AS "placeId", created_at AS "createdAt", NULLIF(expires_at, 'infinity') AS "expiresAt"`;

/**
 * The value of the place_id column for punishments that apply everywhere. The value is not null, because a unique index
 * treats nulls as different.
 */
export const EVERYWHERE = 0;
