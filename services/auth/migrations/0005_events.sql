-- Events that wait to be relayed to the events service, as a queue of the kit. Relayed events are deleted.
CREATE TABLE auth.events (
  guild_id text COLLATE "C" NOT NULL,
  -- Counts from 1 in each guild, in the order of commits.
  number bigint NOT NULL,
  event_id uuid NOT NULL DEFAULT gen_random_uuid(),
  type text NOT NULL,
  source jsonb NOT NULL,
  -- The persons that the data names: chat:<chat ID> and game:<game ID>.
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

CREATE INDEX events_queued ON auth.events (guild_id, number) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX events_queued_at ON auth.events (queued_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX events_dead ON auth.events (guild_id, number) WHERE state = 'dead';

-- The number of the newest event of each guild. The row stays when the guild is erased: numbers are never used twice.
CREATE TABLE auth.event_counters (
  guild_id text COLLATE "C" PRIMARY KEY,
  last_number bigint NOT NULL
) WITH (fillfactor = 50);

-- The expiry for which the event key.expiring was last recorded. If the expiry of the key changes, the event is
-- recorded again.
ALTER TABLE auth.keys ADD COLUMN expiring_reported timestamptz;

-- Finds keys whose event key.expiring is still to be recorded. Using a key changes none of these columns.
CREATE INDEX IF NOT EXISTS keys_expiring ON auth.keys (expires_at)
  WHERE revoked_at IS NULL AND expiring_reported IS DISTINCT FROM expires_at;
