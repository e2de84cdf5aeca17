-- Role tasks and synchronisation jobs are handled by the kit's queue. The release before runs on these tables too: it
-- and this one respect each other's leases, because both read `run_at` or `due_at`, `holder` and `leased_until`.

-- A job is an item of the queue while it is not finished. `due_at` is its `run_at`.
ALTER TABLE members.sync_jobs
  ALTER COLUMN due_at SET DEFAULT clock_timestamp(),
  -- 'dead': the job has failed, and no operator or newer job of its group has dealt with that yet
  ADD COLUMN queue_state text NOT NULL DEFAULT 'queued' CHECK (queue_state IN ('queued', 'done', 'dead', 'skipped')),
  -- attempts since it was queued or last made progress, with the one in flight; `attempts` has those that failed
  ADD COLUMN queue_attempts integer NOT NULL DEFAULT 0,
  ADD COLUMN queued_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN last_error text;
ALTER TABLE members.sync_jobs ALTER COLUMN queued_at SET DEFAULT clock_timestamp();
UPDATE members.sync_jobs SET queued_at = created_at WHERE finished_at IS NULL;

-- The due items of each guild. The indexes on due_at alone are used by the release before.
CREATE INDEX sync_jobs_guild_due ON members.sync_jobs (guild_id, due_at) WHERE finished_at IS NULL;
CREATE INDEX sync_jobs_queued_at ON members.sync_jobs (queued_at) WHERE finished_at IS NULL;
CREATE INDEX sync_jobs_dead ON members.sync_jobs (guild_id, id) WHERE queue_state = 'dead';
CREATE INDEX intents_guild_due ON members.intents (guild_id, due_at) WHERE finished_at IS NULL AND state = 'queued';
