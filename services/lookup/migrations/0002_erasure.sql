-- For erasing a user.
CREATE INDEX link_history_game ON lookup.link_history (guild_id, game_id);
