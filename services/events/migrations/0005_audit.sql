-- Changes by API keys and persons, until auth has written them into the audit (deploy/decisions/0021).
CREATE TABLE events.audit_entries (
  guild_id text COLLATE "C" NOT NULL,
  -- The ID of the event, if the change has one.
  id uuid NOT NULL,
  -- The order of the entries of a guild.
  number bigint GENERATED ALWAYS AS IDENTITY,
  action text NOT NULL,
  service text NOT NULL,
  created_at timestamptz NOT NULL,
  -- {kind, id, requestId, address, role}
  source jsonb NOT NULL,
  -- The persons that the entry names, and the person who made the change: chat:<chat ID> and game:<game ID>.
  persons text[] NOT NULL,
  before jsonb,
  after jsonb,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Until then auth may have a copy of the entry that is not yet in the audit.
  taken_until timestamptz,
  PRIMARY KEY (guild_id, id)
);
CREATE INDEX audit_entries_number ON events.audit_entries (guild_id, number);
CREATE INDEX audit_entries_queued ON events.audit_entries (queued_at);
CREATE INDEX audit_entries_persons ON events.audit_entries USING gin (persons);

-- How many changes of each key, and of all persons together, have come to the audit on a day (UTC). Above a limit only
-- their number is in the audit.
CREATE TABLE events.audit_days (
  guild_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  -- The prefix of the key; `console` for all persons.
  actor text COLLATE "C" NOT NULL,
  entries integer NOT NULL,
  PRIMARY KEY (guild_id, day, actor)
) WITH (fillfactor = 50);
CREATE INDEX audit_days_day ON events.audit_days (day);
