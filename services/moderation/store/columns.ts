/** A punishment as the domain has it. */
export const PUNISHMENT = `id, kind, game_id AS "gameId", game_username AS "gameUsername", reason,
  moderator_game_id AS "moderatorGameId", moderator_chat_id AS "moderatorChatId", source_server_id AS "sourceServerId",
  NULLIF(place_id, 0) AS "placeId", created_at AS "createdAt", NULLIF(expires_at, 'infinity') AS "expiresAt"`;

/** 0 stands for everywhere: null would be distinct from itself in a unique index. */
export const EVERYWHERE = 0;
