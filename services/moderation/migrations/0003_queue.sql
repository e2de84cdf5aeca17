-- The outbox becomes a queue (services/kit/queue), with due_at as run_at, failures as attempts and delivered_at as
-- finished_at. The previous release uses only these three columns; both releases respect each other's leases and
-- deliveries.
ALTER TABLE moderation.outbox
  ADD COLUMN state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  ADD COLUMN leased_until timestamptz,
  ADD COLUMN queued_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN last_error text,
  ALTER COLUMN due_at SET DEFAULT clock_timestamp();
ALTER TABLE moderation.outbox ALTER COLUMN queued_at SET DEFAULT clock_timestamp();

-- Finds the next item of each guild, without dead letters.
CREATE INDEX outbox_queued ON moderation.outbox (guild_id, log_id) WHERE delivered_at IS NULL AND state = 'queued';
CREATE INDEX outbox_queued_at ON moderation.outbox (queued_at) WHERE delivered_at IS NULL AND state = 'queued';
CREATE INDEX outbox_dead ON moderation.outbox (guild_id, log_id) WHERE state = 'dead';
