CREATE TABLE activity.games (
  guild_id text COLLATE "C" NOT NULL,
  universe_id bigint NOT NULL,
  place_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  plugin_version text,
  registered_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, universe_id, place_id)
);

-- The newest heartbeat of each server. Rows are updated at every heartbeat: no index contains a changing column, and
-- each page has free space, so that the updates are HOT.
CREATE TABLE activity.servers (
  guild_id text COLLATE "C" NOT NULL,
  server_id text COLLATE "C" NOT NULL,
  place_id bigint NOT NULL,
  universe_id bigint,
  player_count integer NOT NULL,
  max_players integer NOT NULL,
  players json,
  fps double precision,
  age_seconds bigint,
  plugin_version text,
  heartbeat_at timestamptz NOT NULL,
  -- The heartbeat interval that the last response told the server, and the time until which the server counts as live.
  interval_seconds integer NOT NULL,
  live_until timestamptz NOT NULL,
  CONSTRAINT servers_guild PRIMARY KEY (guild_id, server_id)
) WITH (fillfactor = 50);

-- One row for each server that receives a command.
CREATE TABLE activity.commands (
  guild_id text COLLATE "C" NOT NULL,
  command_id uuid NOT NULL DEFAULT gen_random_uuid(),
  server_id text COLLATE "C" NOT NULL,
  -- Commands are delivered in this order.
  place bigint GENERATED ALWAYS AS IDENTITY,
  -- The moderation decision from which the command was made.
  event_id uuid,
  type text NOT NULL,
  target_game_id bigint,
  target_game_username text,
  payload json NOT NULL,
  issued_by text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  leased_until timestamptz,
  status text CHECK (status IN ('success', 'failed', 'rejected')),
  result json,
  error text,
  acked_at timestamptz,
  CONSTRAINT commands_id PRIMARY KEY (guild_id, command_id),
  CONSTRAINT commands_place UNIQUE (guild_id, place)
) WITH (fillfactor = 80);

-- The queue of a server. The index does not contain the leases, so that leasing a command is a HOT update.
CREATE INDEX commands_queue ON activity.commands (guild_id, server_id, expires_at) WHERE acked_at IS NULL;
-- Each moderation decision is sent to a server at most once.
CREATE UNIQUE INDEX commands_event ON activity.commands (guild_id, event_id, server_id) WHERE event_id IS NOT NULL;
CREATE INDEX commands_finished ON activity.commands (LEAST(acked_at, expires_at));

CREATE TABLE activity.sessions (
  guild_id text COLLATE "C" NOT NULL,
  session_id uuid NOT NULL,
  game_id bigint NOT NULL,
  game_username text,
  place_id bigint NOT NULL,
  server_id text COLLATE "C" NOT NULL,
  started_at timestamptz NOT NULL,
  -- The last heartbeat of the session, at first its start.
  beat_at timestamptz NOT NULL,
  idle_seconds bigint NOT NULL DEFAULT 0,
  -- Set when the session ends. A session that missed three heartbeats gets the time of its last heartbeat, but only
  -- when it is next checked.
  ended_at timestamptz,
  end_reason text,
  CONSTRAINT sessions_id PRIMARY KEY (guild_id, session_id)
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX sessions_open ON activity.sessions (guild_id, game_id, server_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_started ON activity.sessions (started_at);

CREATE TABLE activity.actions (
  guild_id text COLLATE "C" NOT NULL,
  action_id uuid NOT NULL,
  actor_game_id bigint NOT NULL,
  action_type text NOT NULL,
  target_game_id bigint,
  place_id bigint,
  server_id text COLLATE "C",
  details json,
  occurred_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT actions_id PRIMARY KEY (guild_id, action_id)
);

CREATE INDEX actions_created ON activity.actions (created_at);

CREATE TABLE activity.idempotency (
  guild_id text COLLATE "C" NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  key text NOT NULL,
  body_hash bytea NOT NULL,
  status smallint,
  answer bytea,
  claim uuid,
  claimed_until timestamptz,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, method, path, key)
);

CREATE INDEX idempotency_created ON activity.idempotency (created_at);
