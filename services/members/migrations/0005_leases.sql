-- No index contains the lease columns, so that renewing a lease is a HOT update; the index on held_until is therefore
-- dropped. Locks of crashed processes are found by the time at which they were taken.
ALTER TABLE members.member_locks ADD COLUMN taken_at timestamptz NOT NULL DEFAULT clock_timestamp();
CREATE INDEX member_locks_taken ON members.member_locks (taken_at);
DROP INDEX members.member_locks_held_until;
ALTER TABLE members.member_locks SET (fillfactor = 50);

-- Waiting tasks are not updated. Only the previous release writes `due_at` and `failures`.
ALTER TABLE members.role_tasks
  ALTER COLUMN due_at SET DEFAULT clock_timestamp(),
  ADD COLUMN state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  -- The number of failed attempts.
  ADD COLUMN attempts integer NOT NULL DEFAULT 0,
  -- The earliest time of the next attempt.
  ADD COLUMN run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The attempt that holds the lease, and the end of the lease.
  ADD COLUMN holder uuid,
  ADD COLUMN leased_until timestamptz,
  ADD COLUMN queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When an operator discarded the task. Completed tasks are deleted instead.
  ADD COLUMN finished_at timestamptz,
  ADD COLUMN last_error text;
CREATE INDEX role_tasks_run ON members.role_tasks (guild_id, run_at) WHERE state = 'queued';
CREATE INDEX role_tasks_queued ON members.role_tasks (queued_at) WHERE state = 'queued';
CREATE INDEX role_tasks_dead ON members.role_tasks (guild_id, chat_id) WHERE state = 'dead';
ALTER TABLE members.role_tasks SET (fillfactor = 50);
