-- For lists of sessions and actions, newest first. No index contains a column that a heartbeat of a session changes.
CREATE INDEX IF NOT EXISTS sessions_list ON activity.sessions (guild_id, started_at, session_id);
CREATE INDEX IF NOT EXISTS sessions_member ON activity.sessions (guild_id, game_id, started_at, session_id);
CREATE INDEX IF NOT EXISTS sessions_open_list ON activity.sessions (guild_id, started_at, session_id)
  WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS actions_list ON activity.actions (guild_id, occurred_at, action_id);
CREATE INDEX IF NOT EXISTS actions_by_actor ON activity.actions (guild_id, actor_game_id, occurred_at, action_id);
CREATE INDEX IF NOT EXISTS actions_by_target ON activity.actions (guild_id, target_game_id, occurred_at, action_id)
  WHERE target_game_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS actions_by_type ON activity.actions (guild_id, action_type, occurred_at, action_id);
