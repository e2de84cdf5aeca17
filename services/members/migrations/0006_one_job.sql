-- Two jobs of one guild never run at once: a running job has a holder, and a guild has one running job at most.
LOCK TABLE members.sync_jobs IN SHARE ROW EXCLUSIVE MODE;

ALTER TABLE members.sync_jobs
  -- until when the holder has the job unless it renews the lease; no index names it, so that renewing is a HOT update
  ADD COLUMN leased_until timestamptz,
  -- when the position last changed, from which the age of a job that cannot go on counts
  ADD COLUMN progressed_at timestamptz;

UPDATE members.sync_jobs SET progressed_at = clock_timestamp() WHERE finished_at IS NULL;
-- Whoever runs a job now notices that it is lost, and any replica goes on where it was.
UPDATE members.sync_jobs SET holder = NULL, due_at = clock_timestamp() WHERE holder IS NOT NULL;

CREATE UNIQUE INDEX sync_jobs_running ON members.sync_jobs (guild_id)
  WHERE holder IS NOT NULL AND finished_at IS NULL;
-- For lists of a guild's jobs, newest first.
CREATE INDEX sync_jobs_created ON members.sync_jobs (guild_id, created_at DESC, id DESC);
ALTER TABLE members.sync_jobs SET (fillfactor = 50);
