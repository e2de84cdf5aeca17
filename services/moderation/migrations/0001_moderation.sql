-- Answers to writes with an Idempotency-Key, given again to their repeats.
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

-- Bans and mutes. In force: not ended, and expires_at lies ahead. Kept until erasure.
CREATE TABLE moderation.punishments (
  guild_id text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  kind text NOT NULL CHECK (kind IN ('ban', 'mute')),
  game_id bigint NOT NULL,
  -- 0: everywhere
  place_id bigint NOT NULL,
  game_username text,
  reason text NOT NULL,
  moderator_game_id bigint,
  moderator_chat_id text COLLATE "C",
  source_server_id text,
  created_at timestamptz NOT NULL,
  -- infinity: permanent
  expires_at timestamptz NOT NULL,
  -- when it was lifted; its own expires_at where one that had expired made room for the next
  ended_at timestamptz,
  -- when it was made or lifted
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, id)
);

-- One at a time for each user, scope and kind.
CREATE UNIQUE INDEX punishments_current ON moderation.punishments (guild_id, game_id, place_id, kind)
  WHERE ended_at IS NULL;
CREATE INDEX punishments_active ON moderation.punishments (guild_id, kind, expires_at, id) WHERE ended_at IS NULL;
CREATE INDEX punishments_updated ON moderation.punishments (guild_id, kind, updated_at, id);

-- Every decision; rows are only added, and kept until erasure.
CREATE TABLE moderation.log (
  guild_id text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  action text NOT NULL CHECK (action IN ('ban', 'unban', 'mute', 'unmute')),
  -- the ban or mute that was made or lifted
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

-- Decisions that game servers are to hear of; what they say stands in the log.
CREATE TABLE moderation.outbox (
  guild_id text COLLATE "C" NOT NULL,
  log_id bigint NOT NULL,
  event_id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- when it may be tried; ahead while a replica is delivering it
  due_at timestamptz NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  delivered_at timestamptz,
  PRIMARY KEY (guild_id, log_id),
  FOREIGN KEY (guild_id, log_id) REFERENCES moderation.log ON DELETE CASCADE
);

CREATE INDEX outbox_open ON moderation.outbox (guild_id, log_id) WHERE delivered_at IS NULL;
CREATE INDEX outbox_delivered ON moderation.outbox (delivered_at) WHERE delivered_at IS NOT NULL;

-- Players that operators flag, for one guild or, as guild 0, for all.
CREATE TABLE moderation.shield (
  guild_id text COLLATE "C" NOT NULL,
  game_id bigint NOT NULL,
  game_username text,
  reason text NOT NULL,
  category text NOT NULL,
  source text NOT NULL,
  -- who added it
  actor text NOT NULL,
  flagged_at timestamptz NOT NULL,
  -- infinity: until it is removed
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, game_id)
);
