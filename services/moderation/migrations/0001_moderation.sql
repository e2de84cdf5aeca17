-- Stored responses to writes with an Idempotency-Key, returned again if the request is repeated.
CREATE TABLE moderation.idempotency (
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

CREATE INDEX idempotency_created ON moderation.idempotency (created_at);

-- Bans and mutes. Active: ended_at is null and expires_at is in the future. Rows are kept until erasure.
CREATE TABLE moderation.punishments (
  guild_id text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  kind text NOT NULL CHECK (kind IN ('ban', 'mute')),
  game_id bigint NOT NULL,
  -- 0: all places
  place_id bigint NOT NULL,
  game_username text,
  reason text NOT NULL,
  moderator_game_id bigint,
  moderator_chat_id text COLLATE "C",
  source_server_id text,
  created_at timestamptz NOT NULL,
  -- infinity: permanent
  expires_at timestamptz NOT NULL,
  -- When it was lifted. If it had expired and was replaced by another one, its expires_at.
  ended_at timestamptz,
  -- When it was created or lifted.
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, id)
);

-- A player has at most one unended ban and one unended mute in each place and for all places.
CREATE UNIQUE INDEX punishments_current ON moderation.punishments (guild_id, game_id, place_id, kind)
  WHERE ended_at IS NULL;
CREATE INDEX punishments_active ON moderation.punishments (guild_id, kind, expires_at, id) WHERE ended_at IS NULL;
CREATE INDEX punishments_updated ON moderation.punishments (guild_id, kind, updated_at, id);

-- Every moderation decision. Rows are never updated, and kept until erasure.
CREATE TABLE moderation.log (
  guild_id text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  action text NOT NULL CHECK (action IN ('ban', 'unban', 'mute', 'unmute')),
  -- The ban or mute that was created or lifted.
  punishment_id bigint NOT NULL,
  game_id bigint NOT NULL,
  place_id bigint NOT NULL,
  game_username text,
  reason text,
  moderator_game_id bigint,
  moderator_chat_id text COLLATE "C",
  source_server_id text,
  duration_seconds bigint,
  expires_at timestamptz,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, id)
);

CREATE INDEX log_created ON moderation.log (guild_id, created_at, id);
CREATE INDEX log_game ON moderation.log (guild_id, game_id, created_at, id);
CREATE INDEX log_moderator ON moderation.log (guild_id, moderator_game_id, created_at, id)
  WHERE moderator_game_id IS NOT NULL;
CREATE INDEX log_action ON moderation.log (guild_id, action, created_at, id);

-- The outbox: decisions that are still to be sent to game servers. Their content is in the log.
CREATE TABLE moderation.outbox (
  guild_id text COLLATE "C" NOT NULL,
  log_id bigint NOT NULL,
  event_id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- The earliest time of the next attempt; in the future while a replica is delivering the row.
  due_at timestamptz NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  delivered_at timestamptz,
  PRIMARY KEY (guild_id, log_id),
  FOREIGN KEY (guild_id, log_id) REFERENCES moderation.log ON DELETE CASCADE
);

CREATE INDEX outbox_open ON moderation.outbox (guild_id, log_id) WHERE delivered_at IS NULL;
CREATE INDEX outbox_delivered ON moderation.outbox (delivered_at) WHERE delivered_at IS NOT NULL;

-- The shield list: players that operators have flagged, in one guild or (guild 0) in all guilds.
CREATE TABLE moderation.shield (
  guild_id text COLLATE "C" NOT NULL,
  game_id bigint NOT NULL,
  game_username text,
  reason text NOT NULL,
  category text NOT NULL,
  source text NOT NULL,
  -- the operator who added the entry
  actor text NOT NULL,
  flagged_at timestamptz NOT NULL,
  -- infinity: does not expire
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, game_id)
);
