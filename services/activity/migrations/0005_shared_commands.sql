-- A command for several servers is one row whose server_id is '', which is not the ID of any server. It is for the
-- servers that were live at live_at and became live before it was sent. Rows for a single server are unchanged, so that
-- the previous release can read and write them; it ignores rows for several servers.
ALTER TABLE activity.commands
  ADD COLUMN place_id bigint,
  ADD COLUMN excluded_server_id text COLLATE "C",
  ADD COLUMN live_at timestamptz,
  -- The number of servers that the command is for, counted when it was sent.
  ADD COLUMN servers integer NOT NULL DEFAULT 1,
  -- The time of the cancellation. expires_at is then set to this time, unless it was earlier.
  ADD COLUMN cancelled_at timestamptz,
  -- The idempotency key of the sender, and a hash of the request that was sent with it.
  ADD COLUMN request_key text,
  ADD COLUMN request_hash bytea;

CREATE INDEX IF NOT EXISTS commands_shared ON activity.commands (guild_id, place) WHERE server_id = '';
-- For lists of the newest commands.
CREATE INDEX IF NOT EXISTS commands_created ON activity.commands (guild_id, created_at, place);
CREATE UNIQUE INDEX commands_request ON activity.commands (guild_id, request_key) WHERE request_key IS NOT NULL;

-- One row for each server to which a command for several servers was delivered.
CREATE TABLE activity.deliveries (
  guild_id text COLLATE "C" NOT NULL,
  command_id uuid NOT NULL,
  server_id text COLLATE "C" NOT NULL,
  -- A copy of the expires_at of the command.
  expires_at timestamptz NOT NULL,
  -- 0 if the command was not delivered yet: it is reserved for a server that was offline, or a poll returned it because
  -- it could not deliver it.
  attempt integer NOT NULL DEFAULT 0,
  leased_until timestamptz,
  status text CHECK (status IN ('success', 'failed', 'rejected')),
  result json,
  error text,
  acked_at timestamptz,
  CONSTRAINT deliveries_id PRIMARY KEY (guild_id, command_id, server_id)
) WITH (fillfactor = 80);

-- The index does not contain the leases, so that leasing a command is a HOT update.
CREATE INDEX deliveries_queue ON activity.deliveries (guild_id, server_id, expires_at) WHERE acked_at IS NULL;
CREATE INDEX deliveries_expired ON activity.deliveries (expires_at);

-- The number of live servers of each guild. A transaction that adds a server or sends a command locks the row of the
-- guild.
CREATE TABLE activity.guilds (
  guild_id text COLLATE "C" NOT NULL,
  -- The number of servers with is_counted. It may include servers that have gone offline since next_lapse_at.
  live_servers integer NOT NULL DEFAULT 0,
  -- No counted server goes offline before this time. NULL: no server is counted.
  next_lapse_at timestamptz,
  -- The `place` of the newest command for several servers. Commands are sent while this row is locked, so that a
  -- transaction that sees this value also sees every earlier command.
  last_place bigint NOT NULL DEFAULT 0,
  CONSTRAINT guilds_id PRIMARY KEY (guild_id)
) WITH (fillfactor = 50);

ALTER TABLE activity.servers
  -- True if guilds.live_servers includes the server. Heartbeats do not change this column, so that an index may contain
  -- it.
  ADD COLUMN is_counted boolean NOT NULL DEFAULT false,
  -- The `place` of the last command for several servers that was considered for this server. NULL: the previous release
  -- wrote the row last.
  ADD COLUMN cursor bigint,
  -- The newest command at the time when the server came online. The server receives no older commands, except those
  -- that were reserved for it.
  ADD COLUMN admitted_place bigint;

UPDATE activity.servers SET is_counted = true, cursor = 0, admitted_place = 0 WHERE live_until > now();
INSERT INTO activity.guilds (guild_id, live_servers, next_lapse_at)
  SELECT guild_id, count(*), min(live_until) FROM activity.servers WHERE is_counted GROUP BY guild_id;

CREATE INDEX servers_counted ON activity.servers (guild_id, server_id) WHERE is_counted;
