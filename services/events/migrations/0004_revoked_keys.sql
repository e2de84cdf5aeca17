-- Keys that were revoked in the last day. A gateway may accept a key for some seconds after its revocation; a webhook
-- that was created in that time must be disabled too.
CREATE TABLE events.revoked_keys (
  guild_id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  revoked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (guild_id, key_id)
);
CREATE INDEX revoked_keys_revoked ON events.revoked_keys (revoked_at);
