-- The queue of events that are still to be sent to the events service. Sent events are deleted.
CREATE TABLE members.events (
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

CREATE INDEX events_queued ON members.events (guild_id, number) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX events_queued_at ON members.events (queued_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX events_dead ON members.events (guild_id, number) WHERE state = 'dead';

-- The number of the newest event of each guild. The row stays when the guild is erased: numbers are never used twice.
CREATE TABLE members.event_counters (
  guild_id text COLLATE "C" PRIMARY KEY,
  last_number bigint NOT NULL
) WITH (fillfactor = 50);

-- The source of the events that are recorded when the work is done: an object with `kind` and `id`; null: the service
-- itself.
ALTER TABLE members.intents ADD COLUMN source jsonb;
ALTER TABLE members.role_tasks ADD COLUMN source jsonb;
ALTER TABLE members.sync_jobs ADD COLUMN source jsonb;

-- Role changes that a synchronisation is about to make on the chat platform. Rows are written before the platform is
-- called, and deleted when the event of the change is recorded. The table is also a queue: if a row still exists at its
-- run_at, a worker completes the change and records its event.
CREATE TABLE members.role_changes (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  added text[] NOT NULL,
  removed text[] NOT NULL,
  source jsonb,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  attempts integer NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL,
  leased_until timestamptz,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  last_error text,
  PRIMARY KEY (guild_id, chat_id)
);

CREATE INDEX role_changes_due ON members.role_changes (guild_id, run_at)
  WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX role_changes_queued_at ON members.role_changes (queued_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX role_changes_dead ON members.role_changes (guild_id, chat_id) WHERE state = 'dead';

-- Changes of nicknames, handled in the same way.
CREATE TABLE members.nickname_changes (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  -- null: no nickname
  old_nickname text,
  new_nickname text,
  source jsonb,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  attempts integer NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL,
  leased_until timestamptz,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  last_error text,
  PRIMARY KEY (guild_id, chat_id)
);

CREATE INDEX nickname_changes_due ON members.nickname_changes (guild_id, run_at)
  WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX nickname_changes_queued_at ON members.nickname_changes (queued_at)
  WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX nickname_changes_dead ON members.nickname_changes (guild_id, chat_id) WHERE state = 'dead';
