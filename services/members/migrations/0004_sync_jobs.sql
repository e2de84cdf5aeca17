-- Jobs that synchronise the roles of all members of a group. Any replica may process the next page of a job; progress
-- is stored after each page.
CREATE TABLE members.sync_jobs (
  guild_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  game_group_id bigint NOT NULL,
  state text NOT NULL CHECK (state IN ('queued', 'running', 'paused', 'done', 'failed')),
  -- Numbers of members: all verified ones, those processed, and of these the changed ones and those with errors.
  total integer NOT NULL,
  done integer NOT NULL DEFAULT 0,
  changed integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  -- The first errors: roles that could not be assigned or removed.
  errors jsonb NOT NULL DEFAULT '[]',
  -- Why the job is paused or has failed.
  cause jsonb,
  -- The chat ID of the last processed member.
  position text COLLATE "C" NOT NULL DEFAULT '0',
  -- Failed attempts since the last progress.
  attempts integer NOT NULL DEFAULT 0,
  -- The process that runs the job, and the time from which any replica may take it over.
  holder uuid,
  due_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  started_at timestamptz,
  finished_at timestamptz,
  PRIMARY KEY (guild_id, id)
);

-- A group has at most one unfinished job. A second request gets the ID of the first job.
CREATE UNIQUE INDEX sync_jobs_unfinished ON members.sync_jobs (guild_id, game_group_id) WHERE finished_at IS NULL;
CREATE INDEX sync_jobs_due ON members.sync_jobs (due_at) WHERE finished_at IS NULL;
CREATE INDEX sync_jobs_finished ON members.sync_jobs (finished_at) WHERE finished_at IS NOT NULL;
