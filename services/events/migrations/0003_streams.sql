-- The open streams of all processes, to limit them per guild. Not logged: after a crash of PostgreSQL the table is empty, and
-- the processes add their streams again.
CREATE UNLOGGED TABLE events.streams (
  guild_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  opened_at timestamptz NOT NULL,
  -- When its process last confirmed the stream.
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, id)
) WITH (fillfactor = 50);
