-- Finds the places that no server has registered for a long time; retention deletes them.
CREATE INDEX games_updated ON activity.games (updated_at);
