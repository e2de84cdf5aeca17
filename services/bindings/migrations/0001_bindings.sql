-- Role bindings: rules that give chat roles to members with matching game data. Columns that the type does not use are
-- null.
CREATE TABLE bindings.bindings (
  guild_id text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  chat_role_id text COLLATE "C" NOT NULL,
  type text NOT NULL,
  game_group_id bigint,
  min_rank smallint,
  max_rank smallint,
  gamepass_id bigint,
  asset_id bigint,
  badge_id bigint,
  account_age_platform text CHECK (account_age_platform IN ('chat', 'game')),
  account_age_min_days integer,
  -- Lower priorities come first; bindings without a priority come last.
  priority integer,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, id),
  -- Two bindings of a guild must differ in role, type, target or range.
  CONSTRAINT bindings_identical UNIQUE NULLS NOT DISTINCT (guild_id, chat_role_id, type, game_group_id, min_rank,
    max_rank, gamepass_id, asset_id, badge_id, account_age_platform, account_age_min_days),
  CONSTRAINT bindings_range CHECK (min_rank >= 0 AND max_rank >= min_rank AND max_rank <= 255),
  CONSTRAINT bindings_fields CHECK (CASE type
    WHEN 'group_rank' THEN num_nonnulls(game_group_id, min_rank, max_rank) = 3
      AND num_nonnulls(gamepass_id, asset_id, badge_id, account_age_platform, account_age_min_days) = 0
    WHEN 'account_age' THEN num_nonnulls(account_age_platform, account_age_min_days) = 2
      AND num_nonnulls(game_group_id, min_rank, max_rank, gamepass_id, asset_id, badge_id) = 0
    ELSE num_nonnulls(gamepass_id, asset_id, badge_id) = 1
      AND num_nonnulls(game_group_id, min_rank, max_rank, account_age_platform, account_age_min_days) = 0
      AND CASE type WHEN 'gamepass' THEN gamepass_id WHEN 'asset' THEN asset_id WHEN 'badge' THEN badge_id END
        IS NOT NULL
  END)
);

CREATE INDEX bindings_listed ON bindings.bindings (guild_id, priority, id);

-- Stored responses to writes with an Idempotency-Key, returned again if the request is repeated.
CREATE TABLE bindings.idempotency (
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

CREATE INDEX idempotency_created ON bindings.idempotency (created_at);
