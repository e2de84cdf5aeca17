-- The queue of events that are still to be sent to the events service. Sent events are deleted.
CREATE TABLE activity.events (
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

CREATE INDEX events_queued ON activity.events (guild_id, number) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX events_queued_at ON activity.events (queued_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX events_dead ON activity.events (guild_id, number) WHERE state = 'dead';

-- The number of the newest event of each guild. The row stays when the guild is erased: numbers are never used twice.
CREATE TABLE activity.event_counters (
  guild_id text COLLATE "C" PRIMARY KEY,
  last_number bigint NOT NULL
) WITH (fillfactor = 50);

ALTER TABLE activity.commands
  -- The number of servers that have acknowledged a command for several servers. Acknowledgements before this migration
  -- are not counted.
  ADD COLUMN acked_servers integer NOT NULL DEFAULT 0,
  -- When the event command.finished was recorded. Existing commands get the time of this migration without a rewrite of
  -- the table, so that commands that had already finished produce no event.
  ADD COLUMN reported_at timestamptz DEFAULT now();
ALTER TABLE activity.commands ALTER COLUMN reported_at DROP DEFAULT;
UPDATE activity.commands SET reported_at = NULL, acked_servers = (
  SELECT count(*) FROM activity.deliveries
  WHERE deliveries.guild_id = commands.guild_id AND deliveries.command_id = commands.command_id AND acked_at IS NOT NULL)
WHERE acked_at IS NULL AND LEAST(acked_at, expires_at) > now();
CREATE INDEX commands_unreported ON activity.commands (expires_at) WHERE reported_at IS NULL;

-- When to check whether the session has missed its heartbeats. Heartbeats do not change this column, so that their
-- updates are HOT. NULL: the previous release wrote the row, and no heartbeat has arrived since.
ALTER TABLE activity.sessions ADD COLUMN check_at timestamptz;
CREATE INDEX sessions_check ON activity.sessions (check_at) WHERE ended_at IS NULL AND check_at IS NOT NULL;

-- Finds guilds with servers that may have gone offline. Servers have no such index, so that updates at a heartbeat are
-- HOT.
CREATE INDEX guilds_lapsing ON activity.guilds (next_lapse_at) WHERE next_lapse_at IS NOT NULL;
-- Servers that went offline before this migration produce no event.
SELECT FROM activity.guilds WHERE next_lapse_at <= now() ORDER BY guild_id FOR UPDATE;
UPDATE activity.servers SET is_counted = false, players = NULL WHERE is_counted AND live_until <= now();
UPDATE activity.guilds SET (live_servers, next_lapse_at) = (
  SELECT count(*), min(live_until) FROM activity.servers WHERE servers.guild_id = guilds.guild_id AND is_counted)
WHERE next_lapse_at <= now();
