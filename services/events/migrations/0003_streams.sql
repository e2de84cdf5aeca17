-- The open streams of all processes, to limit the number of streams per guild. The table is unlogged: after a crash of
-- PostgreSQL it is empty, and the processes insert their streams again.
CREATE UNLOGGED TABLE events.streams (
  guild_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  opened_at timestamptz NOT NULL,
  -- When its process last confirmed that the stream is open.
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, id)
) WITH (fillfactor = 50);
