-- Leases are columns that no index names, so that renewing one is a HOT update: the index on held_until goes. Rows of
-- processes that died are removed by the time at which the lock was taken.
ALTER TABLE members.member_locks ADD COLUMN taken_at timestamptz NOT NULL DEFAULT clock_timestamp();
CREATE INDEX member_locks_taken ON members.member_locks (taken_at);
DROP INDEX members.member_locks_held_until;
ALTER TABLE members.member_locks SET (fillfactor = 50);

-- A waiting task is not written to. `due_at` and `failures` are written by the previous release alone.
ALTER TABLE members.role_tasks
  ALTER COLUMN due_at SET DEFAULT clock_timestamp(),
  ADD COLUMN state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  -- attempts that failed
  ADD COLUMN attempts integer NOT NULL DEFAULT 0,
  -- the next attempt is not made before this time
  ADD COLUMN run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- which attempt holds the task, and until when unless it is renewed
  ADD COLUMN holder uuid,
  ADD COLUMN leased_until timestamptz,
  ADD COLUMN queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- when an operator discarded it; what is done is deleted
  ADD COLUMN finished_at timestamptz,
  ADD COLUMN last_error text;
CREATE INDEX role_tasks_run ON members.role_tasks (guild_id, run_at) WHERE state = 'queued';
CREATE INDEX role_tasks_queued ON members.role_tasks (queued_at) WHERE state = 'queued';
CREATE INDEX role_tasks_dead ON members.role_tasks (guild_id, chat_id) WHERE state = 'dead';
ALTER TABLE members.role_tasks SET (fillfactor = 50);
