-- The number of requests of each guild, as reported by gateways: by minute for the last hour, and by day (UTC). No
-- index contains the counters, so that updates are HOT.
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

-- The number of the last report that was counted, for each start of a gateway, so that a report that is sent again is
-- not counted again. Rows belong to no guild.
CREATE TABLE auth.request_reporters (
  reporter text COLLATE "C" PRIMARY KEY,
  sequence bigint NOT NULL,
  reported_at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX request_reporters_reported_at ON auth.request_reporters (reported_at);
