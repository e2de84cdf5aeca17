-- The queue of events that are still to be sent to the events service. Sent events are deleted.
CREATE TABLE moderation.events (
  guild_id text COLLATE "C" NOT NULL,
  -- Starts at 1 in each guild and increases in the order of commits.
  number bigint NOT NULL,
  event_id uuid NOT NULL DEFAULT gen_random_uuid(),
  type text NOT NULL,
  source jsonb NOT NULL,
  -- The persons in the data: chat:<chat ID> and game:<game ID>.
  persons text[] NOT NULL,
  data jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  attempts integer NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  leased_until timestamptz,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  last_error text,
  PRIMARY KEY (guild_id, number)
);

CREATE INDEX events_queued ON moderation.events (guild_id, number) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX events_queued_at ON moderation.events (queued_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX events_dead ON moderation.events (guild_id, number) WHERE state = 'dead';

-- The number of the newest event of each guild. The row stays when the guild is erased: numbers are never used twice.
CREATE TABLE moderation.event_counters (
  guild_id text COLLATE "C" PRIMARY KEY,
  last_number bigint NOT NULL
) WITH (fillfactor = 50);

-- The time up to which the expiry of this row was reported; an earlier expiry produces no event. Existing rows get the
-- time of this migration without a rewrite of the table, so that earlier expiries produce no event.
ALTER TABLE moderation.punishments ADD COLUMN expiry_reported_to timestamptz NOT NULL DEFAULT now();
ALTER TABLE moderation.punishments ALTER COLUMN expiry_reported_to SET DEFAULT '-infinity';
ALTER TABLE moderation.shield ADD COLUMN expiry_reported_to timestamptz NOT NULL DEFAULT now();
ALTER TABLE moderation.shield ALTER COLUMN expiry_reported_to SET DEFAULT '-infinity';

-- Find bans, mutes and flagged list entries whose expiry is still to be reported.
CREATE INDEX IF NOT EXISTS punishments_expiring ON moderation.punishments (expires_at)
  WHERE ended_at IS NULL AND expires_at < 'infinity' AND expires_at > expiry_reported_to;
CREATE INDEX IF NOT EXISTS shield_expiring ON moderation.shield (expires_at)
  WHERE guild_id <> '0' AND expires_at < 'infinity' AND expires_at > expiry_reported_to;
