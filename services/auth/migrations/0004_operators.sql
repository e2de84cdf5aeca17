-- The operators, who may administer the installation. A name is never used twice, because the audit log identifies
-- operators by name.
CREATE TABLE auth.operators (
  name text COLLATE "C" PRIMARY KEY,
  -- The Ed25519 public key. The private key, with which the operator signs, is not stored.
  public_key bytea NOT NULL,
  role text NOT NULL,
  created_at timestamptz NOT NULL,
  created_by text NOT NULL,
  revoked_at timestamptz
);

-- When the guild was suspended: all its keys are rejected as if they were revoked, until this is null again.
ALTER TABLE auth.guilds ADD COLUMN suspended_at timestamptz;
