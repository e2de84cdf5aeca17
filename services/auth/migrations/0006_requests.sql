-- The requests of guilds, as gateways count and report them: by minute for the last hour, and by day (UTC). Only counters
-- that are in no index change, so that updates are HOT.
CREATE TABLE auth.request_minutes (
  guild_id text COLLATE "C" NOT NULL,
  category text COLLATE "C" NOT NULL,
  minute timestamptz NOT NULL,
  allowed bigint NOT NULL,
  rejected bigint NOT NULL,
  PRIMARY KEY (guild_id, minute, category)
) WITH (fillfactor = 70);

CREATE INDEX request_minutes_minute ON auth.request_minutes (minute);

CREATE TABLE auth.request_days (
  guild_id text COLLATE "C" NOT NULL,
  category text COLLATE "C" NOT NULL,
  day timestamptz NOT NULL,
  allowed bigint NOT NULL,
  rejected bigint NOT NULL,
  PRIMARY KEY (guild_id, day, category)
) WITH (fillfactor = 70);

CREATE INDEX request_days_day ON auth.request_days (day);

-- The last report of each start of a gateway that was added to the counts, so that a report that is sent again is not added
-- again. It belongs to no guild.
CREATE TABLE auth.request_reporters (
  reporter text COLLATE "C" PRIMARY KEY,
  sequence bigint NOT NULL,
  reported_at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX request_reporters_reported_at ON auth.request_reporters (reported_at);
