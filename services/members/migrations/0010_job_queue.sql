-- Role tasks and sync jobs become queues (services/kit/queue). The previous release also processes these tables during
-- an upgrade. Both releases respect each other's leases, because both read `run_at` or `due_at`, `holder` and
-- `leased_until`.

-- An unfinished job is an item of the queue, with `due_at` as `run_at`.
ALTER TABLE members.sync_jobs
  ALTER COLUMN due_at SET DEFAULT clock_timestamp(),
  -- 'dead': the job has failed permanently. It stays so until an operator retries or skips it, or a newer job of its
  -- group replaces it.
  ADD COLUMN queue_state text NOT NULL DEFAULT 'queued' CHECK (queue_state IN ('queued', 'done', 'dead', 'skipped')),
  -- The number of attempts since the job was queued or last made progress, including the one in flight. The column
  -- `attempts` counts only failed ones.
  ADD COLUMN queue_attempts integer NOT NULL DEFAULT 0,
  ADD COLUMN queued_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN last_error text;
ALTER TABLE members.sync_jobs ALTER COLUMN queued_at SET DEFAULT clock_timestamp();
UPDATE members.sync_jobs SET queued_at = created_at WHERE finished_at IS NULL;

-- Finds the due items of each guild. Only the previous release uses the indexes on due_at alone.
CREATE INDEX sync_jobs_guild_due ON members.sync_jobs (guild_id, due_at) WHERE finished_at IS NULL;
CREATE INDEX sync_jobs_queued_at ON members.sync_jobs (queued_at) WHERE finished_at IS NULL;
CREATE INDEX sync_jobs_dead ON members.sync_jobs (guild_id, id) WHERE queue_state = 'dead';
CREATE INDEX intents_guild_due ON members.intents (guild_id, due_at) WHERE finished_at IS NULL AND state = 'queued';
