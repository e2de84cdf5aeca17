-- Two jobs of one guild never run at the same time: a running job has a holder, and an index allows one such job per
-- guild.
LOCK TABLE members.sync_jobs IN SHARE ROW EXCLUSIVE MODE;

ALTER TABLE members.sync_jobs
  -- The end of the holder's lease. No index contains it, so that renewing the lease is a HOT update.
  ADD COLUMN leased_until timestamptz,
  -- When the position last changed, to tell for how long a job has made no progress.
  ADD COLUMN progressed_at timestamptz;

UPDATE members.sync_jobs SET progressed_at = clock_timestamp() WHERE finished_at IS NULL;
-- Takes the jobs from the processes that run them. Any replica continues them where they stopped.
UPDATE members.sync_jobs SET holder = NULL, due_at = clock_timestamp() WHERE holder IS NOT NULL;

CREATE UNIQUE INDEX sync_jobs_running ON members.sync_jobs (guild_id)
  WHERE holder IS NOT NULL AND finished_at IS NULL;
-- For lists of a guild's jobs, newest first.
CREATE INDEX sync_jobs_created ON members.sync_jobs (guild_id, created_at DESC, id DESC);
ALTER TABLE members.sync_jobs SET (fillfactor = 50);
