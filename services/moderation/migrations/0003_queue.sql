-- The outbox is a queue of the kit: due_at is its run_at, failures its attempts, delivered_at its finished_at.
-- The release before goes on with these three columns alone, and both respect each other's leases and deliveries.
ALTER TABLE moderation.outbox
  ADD COLUMN state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  ADD COLUMN leased_until timestamptz,
  ADD COLUMN queued_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN last_error text,
  ALTER COLUMN due_at SET DEFAULT clock_timestamp();
ALTER TABLE moderation.outbox ALTER COLUMN queued_at SET DEFAULT clock_timestamp();

-- The next event of each guild: dead letters are passed over.
CREATE INDEX outbox_queued ON moderation.outbox (guild_id, log_id) WHERE delivered_at IS NULL AND state = 'queued';
CREATE INDEX outbox_queued_at ON moderation.outbox (queued_at) WHERE delivered_at IS NULL AND state = 'queued';
CREATE INDEX outbox_dead ON moderation.outbox (guild_id, log_id) WHERE state = 'dead';
