-- Who may administer the installation. A name is never given again, since the audit names people by it.
CREATE TABLE auth.operators (
  name text COLLATE "C" PRIMARY KEY,
  -- Ed25519: a credential signs, and is nowhere but with its holder
  public_key bytea NOT NULL,
  role text NOT NULL,
  created_at timestamptz NOT NULL,
  created_by text NOT NULL,
  revoked_at timestamptz
);

-- Suspended: every key of the guild is refused as if it were revoked, until this is null again.
ALTER TABLE auth.guilds ADD COLUMN suspended_at timestamptz;
