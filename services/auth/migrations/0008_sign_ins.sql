-- Sign-ins to the console that have begun and not ended. The browser and the provider have the secrets; only hashes of
-- them are stored. Rows belong to no guild, and exist for ten minutes.
CREATE TABLE auth.sign_ins (
  state_hash bytea PRIMARY KEY,
  browser_hash bytea NOT NULL,
  provider text COLLATE "C" NOT NULL,
  return_to text NOT NULL,
  -- the IPv4 address or the IPv6 /64 of the browser, for a limit
  network text COLLATE "C" NOT NULL,
  expires_at timestamptz NOT NULL
);

CREATE INDEX sign_ins_network ON auth.sign_ins (network, expires_at);
CREATE INDEX sign_ins_expires_at ON auth.sign_ins (expires_at);
