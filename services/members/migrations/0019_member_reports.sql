-- How many changes of members that the chat platform reported were recorded as events, in each guild within an hour: a raid
-- of a guild must not fill the log of events.
CREATE TABLE members.member_reports (
  guild_id text COLLATE "C" PRIMARY KEY,
  hour timestamptz NOT NULL,
  count integer NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX member_reports_hour ON members.member_reports (hour);
