-- The number of rows that a guild has added on a day (UTC), to enforce limits per day. Updated in the transaction that
-- adds the rows.
CREATE TABLE activity.daily_counts (
  guild_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  day timestamptz NOT NULL,
  added integer NOT NULL,
  CONSTRAINT daily_counts_id PRIMARY KEY (guild_id, kind, day)
) WITH (fillfactor = 50);

CREATE INDEX daily_counts_day ON activity.daily_counts (day);
