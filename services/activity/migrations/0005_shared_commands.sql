-- A command for several servers is one row, whose server_id is '': no server has that ID. Its servers are those that
-- were live at live_at and were admitted before it was sent. A command for one named server stays as it was: code of the
-- release before reads and writes such rows as before, and does not see the others.
ALTER TABLE activity.commands
  ADD COLUMN place_id bigint,
  ADD COLUMN excluded_server_id text COLLATE "C",
  ADD COLUMN live_at timestamptz,
  -- how many servers it is for, counted when it was sent
  ADD COLUMN servers integer NOT NULL DEFAULT 1,
  -- expires_at is not later than this
  ADD COLUMN cancelled_at timestamptz,
  -- the sender's idempotency key, and what was sent with it
  ADD COLUMN request_key text,
  ADD COLUMN request_hash bytea;

CREATE INDEX IF NOT EXISTS commands_shared ON activity.commands (guild_id, place) WHERE server_id = '';
-- Lists, the newest first, since a time.
CREATE INDEX IF NOT EXISTS commands_created ON activity.commands (guild_id, created_at, place);
CREATE UNIQUE INDEX commands_request ON activity.commands (guild_id, request_key) WHERE request_key IS NOT NULL;

-- A row for each server that was handed a command for several servers.
CREATE TABLE activity.deliveries (
  guild_id text COLLATE "C" NOT NULL,
  command_id uuid NOT NULL,
  server_id text COLLATE "C" NOT NULL,
  -- that of the command when it was handed over
  expires_at timestamptz NOT NULL,
  -- 0: reserved for a server that was away, or returned by a poll that could not deliver it
  attempt integer NOT NULL DEFAULT 0,
  leased_until timestamptz,
  status text CHECK (status IN ('success', 'failed', 'rejected')),
  result json,
  error text,
  acked_at timestamptz,
  CONSTRAINT deliveries_id PRIMARY KEY (guild_id, command_id, server_id)
) WITH (fillfactor = 80);

-- As for commands: leases are not in it, so that leasing stays within the page.
CREATE INDEX deliveries_queue ON activity.deliveries (guild_id, server_id, expires_at) WHERE acked_at IS NULL;
CREATE INDEX deliveries_expired ON activity.deliveries (expires_at);

-- What is counted for each guild, and the lock under which its servers are admitted and its commands are sent.
CREATE TABLE activity.guilds (
  guild_id text COLLATE "C" NOT NULL,
  -- Servers with is_counted. Some of them may be past their end since next_lapse_at.
  live_servers integer NOT NULL DEFAULT 0,
  -- No server is past its end before this; NULL: none is counted.
  next_lapse_at timestamptz,
  -- The place of the newest command for several servers. Commands are sent under the lock of this row, so that whoever
  -- sees this place sees every command before it.
  last_place bigint NOT NULL DEFAULT 0,
  CONSTRAINT guilds_id PRIMARY KEY (guild_id)
) WITH (fillfactor = 50);

ALTER TABLE activity.servers
  -- Counted in guilds.live_servers. Does not change with a heartbeat, so that an index may depend on it.
  ADD COLUMN is_counted boolean NOT NULL DEFAULT false,
  -- Commands for several servers up to this place were handed over, reserved, or are not for this server. NULL: the
  -- server was last written by the release before.
  ADD COLUMN cursor bigint,
  -- The newest command when the server became live: older ones are not for it, but for what was reserved.
  ADD COLUMN admitted_place bigint;

UPDATE activity.servers SET is_counted = true, cursor = 0, admitted_place = 0 WHERE live_until > now();
INSERT INTO activity.guilds (guild_id, live_servers, next_lapse_at)
  SELECT guild_id, count(*), min(live_until) FROM activity.servers WHERE is_counted GROUP BY guild_id;

CREATE INDEX servers_counted ON activity.servers (guild_id, server_id) WHERE is_counted;
