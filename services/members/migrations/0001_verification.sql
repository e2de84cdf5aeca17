-- Stored responses to writes with an Idempotency-Key, returned again if the request is repeated.
CREATE TABLE members.idempotency (
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

CREATE INDEX idempotency_created ON members.idempotency (created_at);

-- Verification tokens. A player proves that they own a game account with a token or its code. Only HMACs of both are
-- stored.
CREATE TABLE members.verification_tokens (
  guild_id text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  token_mac bytea NOT NULL,
  code_mac bytea NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The intent that is redeeming the token.
  operation_id uuid,
  completed_at timestamptz,
  game_id bigint,
  PRIMARY KEY (guild_id, id),
  CONSTRAINT verification_tokens_token UNIQUE (guild_id, token_mac),
  CONSTRAINT verification_tokens_code UNIQUE (guild_id, code_mac)
);

CREATE INDEX verification_tokens_expires ON members.verification_tokens (expires_at);

-- Intents: changes of links, stored before lookup is called, so that another replica can finish a change if this one
-- crashes.
CREATE TABLE members.intents (
  guild_id text COLLATE "C" NOT NULL,
  operation_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('redeem', 'link', 'unlink')),
  chat_id text COLLATE "C",
  game_id bigint,
  game_username text,
  token_id bigint,
  -- The row of members.idempotency that gets the result as its response.
  claim jsonb,
  created_at timestamptz NOT NULL,
  -- The time from which any replica may process the intent.
  due_at timestamptz NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  finished_at timestamptz,
  PRIMARY KEY (guild_id, operation_id)
);

CREATE INDEX intents_open ON members.intents (guild_id, created_at) WHERE finished_at IS NULL;
CREATE INDEX intents_due ON members.intents (due_at) WHERE finished_at IS NULL;
CREATE INDEX intents_finished ON members.intents (finished_at) WHERE finished_at IS NOT NULL;
