-- As before, except for how it looks for a partition that another session has just created: `to_regclass` may use what this
-- session has cached before it waited for the lock, and creating the table then failed. A query reads the current catalog.
CREATE OR REPLACE FUNCTION events.create_partition(parent text, day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET lock_timeout = '500ms' AS $$
DECLARE
  partition text := parent || '_' || pg_catalog.to_char(day, 'YYYYMMDD');
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_class
    WHERE relnamespace = 'events'::pg_catalog.regnamespace AND relname = parent AND relkind = 'p') THEN
    RAISE EXCEPTION 'events.% is not a partitioned table', parent;
  END IF;
  PERFORM pg_catalog.pg_advisory_xact_lock(5042017328);
  IF EXISTS (SELECT FROM pg_catalog.pg_class
    WHERE relnamespace = 'events'::pg_catalog.regnamespace AND relname = partition) THEN
    RETURN false;
  END IF;
  EXECUTE pg_catalog.format('CREATE TABLE events.%I (LIKE events.%I INCLUDING ALL)', partition, parent);
  EXECUTE pg_catalog.format('ALTER TABLE events.%I ATTACH PARTITION events.%I FOR VALUES FROM (%L) TO (%L)',
    parent, partition, day, day + 1);
  RETURN true;
END
$$;
