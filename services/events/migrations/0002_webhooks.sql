-- Stored responses to writes with an Idempotency-Key.
CREATE TABLE events.idempotency (
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
CREATE INDEX idempotency_created ON events.idempotency (created_at);

-- URLs to which events are sent. Each is a cursor in the log of its guild: there is no row for each event.
CREATE TABLE events.endpoints (
  guild_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- The key with whose scopes it reads; its revocation disables the endpoint.
  key_id text COLLATE "C" NOT NULL,
  -- NULL: all scopes.
  scopes text[],
  url text NOT NULL,
  -- Event types, groups such as ban.*, or *.
  types text[] NOT NULL,
  format text NOT NULL CHECK (format IN ('standard', 'chat')),
  description text,
  -- Encrypted by the key with the ID secret_key. The previous secret signs too until previous_until.
  secret bytea NOT NULL,
  secret_key text NOT NULL,
  previous_secret bytea,
  previous_until timestamptz,
  enabled boolean NOT NULL DEFAULT true,
  disabled_reason text CHECK (disabled_reason IN ('requested', 'operator', 'gone', 'failing', 'key_revoked')),
  -- Events up to this seq were sent, parked or left out.
  cursor_seq bigint NOT NULL,
  -- The newest event that it may have to receive. It is due while its cursor is before it.
  wanted_seq bigint NOT NULL,
  -- The first failure since the last success.
  failing_since timestamptz,
  -- True if its last attempt failed or was slow: it is then sent to in a lane of its own, and delays no other endpoint.
  is_slow boolean NOT NULL DEFAULT false,
  -- The lease of the process that sends its events.
  lease uuid,
  leased_until timestamptz,
  -- When its events were last sent, so that the endpoints of a guild get turns.
  turn_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The number of its rows in parked.
  parked integer NOT NULL DEFAULT 0,
  -- When its next parked event is due; while a process retries them, when the lease of that process ends.
  retry_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (guild_id, id),
  CHECK (enabled = (disabled_reason IS NULL))
) WITH (fillfactor = 70);

CREATE INDEX endpoints_due ON events.endpoints (is_slow, guild_id)
  WHERE enabled AND cursor_seq < wanted_seq AND parked < 1000;
CREATE INDEX endpoints_retry ON events.endpoints (retry_at) WHERE enabled AND retry_at IS NOT NULL;
CREATE INDEX endpoints_failing ON events.endpoints (failing_since) WHERE enabled AND failing_since IS NOT NULL;

-- Events that an endpoint did not accept, each with its own schedule of retries.
CREATE TABLE events.parked (
  guild_id text COLLATE "C" NOT NULL,
  endpoint_id uuid NOT NULL,
  seq bigint NOT NULL,
  event_id uuid NOT NULL,
  -- The number of attempts so far.
  attempts integer NOT NULL,
  next_attempt_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, endpoint_id, seq),
  FOREIGN KEY (guild_id, endpoint_id) REFERENCES events.endpoints ON DELETE CASCADE
);
CREATE INDEX parked_due ON events.parked (guild_id, endpoint_id, next_attempt_at);

-- Every attempt, one partition per day, dropped after seven days.
CREATE TABLE events.deliveries (
  guild_id text COLLATE "C" NOT NULL,
  endpoint_id uuid NOT NULL,
  day date NOT NULL,
  at timestamptz NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  event_id uuid NOT NULL,
  seq bigint NOT NULL,
  attempt integer NOT NULL,
  status smallint,
  latency_ms integer NOT NULL,
  error text,
  -- The first KiB of the response; NULL after the erasure of a person that the event named.
  answer text,
  next_attempt_at timestamptz,
  PRIMARY KEY (guild_id, endpoint_id, day, at, id)
) PARTITION BY RANGE (day);
CREATE INDEX deliveries_seq ON events.deliveries (guild_id, seq);
