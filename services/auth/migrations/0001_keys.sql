-- A transaction that changes keys locks the row of their guild first, so that it can safely count and number the keys.
CREATE TABLE auth.guilds (
  guild_id text COLLATE "C" PRIMARY KEY,
  next_number integer NOT NULL
);

CREATE TABLE auth.keys (
  guild_id text COLLATE "C" NOT NULL REFERENCES auth.guilds ON DELETE CASCADE,
  number integer NOT NULL,
  name text NOT NULL,
  -- null: a legacy key, which has all scopes
  scopes text[],
  ip_allowlist text[] NOT NULL,
  -- requests a minute
  rate_limit integer,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- increases with every change of the key, but not when the key is used
  version bigint NOT NULL,
  changed_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, number)
) WITH (fillfactor = 80);

-- Finds the keys that changed in the last seconds.
CREATE INDEX keys_changed ON auth.keys (changed_at, guild_id, number);

-- A rotated secret works alongside the current one until its grace period ends.
CREATE TABLE auth.key_secrets (
  guild_id text COLLATE "C" NOT NULL,
  -- SHA-256 of the whole key; the key itself is never stored
  hash bytea NOT NULL,
  number integer NOT NULL,
  -- the part of the key that may be displayed
  prefix text NOT NULL,
  -- null = the current secret
  valid_until timestamptz,
  PRIMARY KEY (guild_id, hash),
  FOREIGN KEY (guild_id, number) REFERENCES auth.keys ON DELETE CASCADE
);

CREATE UNIQUE INDEX key_secrets_current ON auth.key_secrets (guild_id, number) WHERE valid_until IS NULL;
CREATE INDEX key_secrets_of_key ON auth.key_secrets (guild_id, number);

CREATE TABLE auth.audit (
  guild_id text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  number integer NOT NULL,
  details jsonb NOT NULL,
  PRIMARY KEY (guild_id, id)
);

CREATE INDEX audit_at ON auth.audit (guild_id, at, id);
