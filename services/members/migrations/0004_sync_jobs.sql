-- Synchronisations of whole groups. Taken by any replica, a page at a time; what is done is noted as it goes.
CREATE TABLE members.sync_jobs (
  guild_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  game_group_id bigint NOT NULL,
  state text NOT NULL CHECK (state IN ('queued', 'running', 'paused', 'done', 'failed')),
  -- members: all verified ones, those dealt with, and of these who changed and who could not be brought in line
  total integer NOT NULL,
  done integer NOT NULL DEFAULT 0,
  changed integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  -- the first of what could not be given or taken
  errors jsonb NOT NULL DEFAULT '[]',
  -- why it is paused or has failed
  cause jsonb,
  -- the chat ID of the last member dealt with
  position text COLLATE "C" NOT NULL DEFAULT '0',
  -- how often it was tried in vain from there on
  attempts integer NOT NULL DEFAULT 0,
  -- whose run it is, and when any replica may take it
  holder uuid,
  due_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  started_at timestamptz,
  finished_at timestamptz,
  PRIMARY KEY (guild_id, id)
);

-- Who comes second is told of the first.
CREATE UNIQUE INDEX sync_jobs_unfinished ON members.sync_jobs (guild_id, game_group_id) WHERE finished_at IS NULL;
CREATE INDEX sync_jobs_due ON members.sync_jobs (due_at) WHERE finished_at IS NULL;
CREATE INDEX sync_jobs_finished ON members.sync_jobs (finished_at) WHERE finished_at IS NOT NULL;
