-- For erasing a user. No index contains a column that changes after the row was inserted.
CREATE INDEX commands_target ON activity.commands (guild_id, target_game_id) WHERE target_game_id IS NOT NULL;
CREATE INDEX commands_issuer ON activity.commands (guild_id, issued_by) WHERE issued_by IS NOT NULL;
CREATE INDEX sessions_game ON activity.sessions (guild_id, game_id);
CREATE INDEX actions_actor ON activity.actions (guild_id, actor_game_id);
CREATE INDEX actions_target ON activity.actions (guild_id, target_game_id) WHERE target_game_id IS NOT NULL;
