-- Finds the universe that is due for longest, without reading all others.
CREATE INDEX CONCURRENTLY IF NOT EXISTS mirrored_universes_due ON moderation.mirrored_universes (run_at);
