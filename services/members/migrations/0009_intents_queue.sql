-- Intents become a queue (services/kit/queue), with due_at as run_at and failures as attempts. The previous release
-- uses only these columns and finished_at; both releases respect each other's leases.
ALTER TABLE members.intents
  ADD COLUMN state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  ADD COLUMN leased_until timestamptz,
  ADD COLUMN queued_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN last_error text,
  ALTER COLUMN created_at SET DEFAULT clock_timestamp(),
  ALTER COLUMN due_at SET DEFAULT clock_timestamp();
ALTER TABLE members.intents ALTER COLUMN queued_at SET DEFAULT clock_timestamp();

CREATE INDEX intents_queued ON members.intents (due_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX intents_queued_at ON members.intents (queued_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX intents_dead ON members.intents (guild_id, operation_id) WHERE state = 'dead';
