-- The newest seq of each guild. A transaction that stores events locks the row until it commits, so that seqs become
-- visible in order. The row stays when the guild is erased, so that a seq is never used twice.
CREATE TABLE events.counters (
  guild_id text COLLATE "C" PRIMARY KEY,
  last_seq bigint NOT NULL,
  -- The day (UTC) of the newest event. It never decreases, so that ordering by day also orders by seq.
  day date NOT NULL
) WITH (fillfactor = 50);

-- The highest stored event number of each guild and recording service: events with a number up to it are duplicates.
-- Rows are kept when the guild is erased.
CREATE TABLE events.sources (
  guild_id text COLLATE "C" NOT NULL,
  service text COLLATE "C" NOT NULL,
  last_number bigint NOT NULL,
  -- The value of the number before the last update of the row.
  previous_number bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (guild_id, service)
) WITH (fillfactor = 50);

-- The days (UTC) on which each guild has events, to find the oldest seq of a guild and the partition of a seq.
CREATE TABLE events.days (
  guild_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  first_seq bigint NOT NULL,
  PRIMARY KEY (guild_id, day)
);
CREATE INDEX days_day ON events.days (day);

-- One row per event, partitioned by the day on which it was stored. Sorting the events of a guild by day and seq gives
-- the same order as sorting them by seq.
CREATE TABLE events.log (
  guild_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  seq bigint NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  created_at timestamptz NOT NULL,
  -- {kind, id}
  source json NOT NULL,
  -- The persons that the data names: chat:<chat ID> and game:<game ID>.
  persons text[] NOT NULL,
  data json NOT NULL,
  -- The size of the data in bytes, to limit the size of responses without reading the data.
  size integer NOT NULL,
  PRIMARY KEY (guild_id, day, seq)
) PARTITION BY RANGE (day);
CREATE INDEX log_id ON events.log (guild_id, id);
CREATE INDEX log_persons ON events.log USING gin (persons);

-- These functions create and drop partitions, because the role of the service may not change the schema. A new table is
-- attached instead of created as a partition: creating a partition would wait for all statements that use the parent
-- table, and block later ones.
CREATE FUNCTION events.create_partition(parent text, day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET lock_timeout = '500ms' AS $$
DECLARE
  partition text := parent || '_' || pg_catalog.to_char(day, 'YYYYMMDD');
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_class
    WHERE relnamespace = 'events'::pg_catalog.regnamespace AND relname = parent AND relkind = 'p') THEN
    RAISE EXCEPTION 'events.% is not a partitioned table', parent;
  END IF;
  PERFORM pg_catalog.pg_advisory_xact_lock(5042017328);
  IF pg_catalog.to_regclass(pg_catalog.format('events.%I', partition)) IS NOT NULL THEN
    RETURN false;
  END IF;
  EXECUTE pg_catalog.format('CREATE TABLE events.%I (LIKE events.%I INCLUDING ALL)', partition, parent);
  EXECUTE pg_catalog.format('ALTER TABLE events.%I ATTACH PARTITION events.%I FOR VALUES FROM (%L) TO (%L)',
    parent, partition, day, day + 1);
  RETURN true;
END
$$;

-- Drops the oldest partition before a day and returns its name; returns NULL if there is none. Dropping blocks
-- statements that use the parent table, so it gives up if it does not get its lock within 50 ms.
CREATE FUNCTION events.drop_partition(parent text, before date) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET lock_timeout = '50ms' AS $$
DECLARE
  partition text;
BEGIN
  SELECT relname INTO partition
  FROM pg_catalog.pg_inherits JOIN pg_catalog.pg_class ON pg_class.oid = inhrelid
  WHERE inhparent = pg_catalog.to_regclass(pg_catalog.format('events.%I', parent))
    AND relname < parent || '_' || pg_catalog.to_char(before, 'YYYYMMDD')
    AND relname < parent || '_' || pg_catalog.to_char(pg_catalog.now() AT TIME ZONE 'UTC', 'YYYYMMDD')
  ORDER BY relname LIMIT 1;
  IF partition IS NOT NULL THEN
    EXECUTE pg_catalog.format('DROP TABLE events.%I', partition);
  END IF;
  RETURN partition;
END
$$;

REVOKE ALL ON FUNCTION events.create_partition(text, date), events.drop_partition(text, date) FROM PUBLIC;
