-- The bans or mutes of one player in all places, in the order of the list. A list of one place reads punishments_current.
-- The condition on game_id holds for every row. Only the list repeats it, so that PostgreSQL does not use this index
-- for statements about one place, for which it would read the player's rows of all places.
CREATE INDEX IF NOT EXISTS punishments_active_player ON moderation.punishments (guild_id, kind, game_id, expires_at, id)
  WHERE ended_at IS NULL AND (game_id > 0) IS TRUE;
