-- Previews: jobs that compute what a new or changed role binding would do to all members. They change nothing outside of
-- this table. The table is a queue of its own, so that previews neither delay sync jobs nor are run by the previous
-- release, which would take them for sync jobs.
CREATE TABLE members.binding_previews (
  guild_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  -- The planned binding, as a message of guild.bindings.v1. Its ID is 0 if it is new.
  binding jsonb NOT NULL,
  -- Numbers of members: all verified ones, those evaluated, and of these the ones who would gain or lose the role and
  -- those for whom the game platform cannot tell.
  total integer NOT NULL,
  done integer NOT NULL DEFAULT 0,
  gained integer NOT NULL DEFAULT 0,
  lost integer NOT NULL DEFAULT 0,
  unknown integer NOT NULL DEFAULT 0,
  -- The first members who would gain or lose the role: chat_id, username and change.
  named jsonb NOT NULL DEFAULT '[]',
  -- Why the preview waits or has failed.
  cause jsonb,
  -- The chat ID of the last evaluated member.
  position text COLLATE "C" NOT NULL DEFAULT '0',
  started_at timestamptz,
  progressed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  attempts integer NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  holder uuid,
  leased_until timestamptz,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  last_error text,
  PRIMARY KEY (guild_id, id)
) WITH (fillfactor = 50);

-- A guild has at most one unfinished preview.
CREATE UNIQUE INDEX binding_previews_unfinished ON members.binding_previews (guild_id) WHERE finished_at IS NULL;
CREATE INDEX binding_previews_queued ON members.binding_previews (guild_id, run_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX binding_previews_queued_at ON members.binding_previews (queued_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX binding_previews_dead ON members.binding_previews (guild_id, id) WHERE state = 'dead';
CREATE INDEX binding_previews_finished ON members.binding_previews (finished_at) WHERE finished_at IS NOT NULL;
-- For deleting all but the newest previews of a guild.
CREATE INDEX binding_previews_created ON members.binding_previews (guild_id, created_at DESC, id DESC);
