-- Places that no server has registered for long are forgotten.
CREATE INDEX games_updated ON activity.games (updated_at);
