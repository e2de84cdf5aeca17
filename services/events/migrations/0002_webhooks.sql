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

-- The webhooks: URLs to which events are sent. Each has a cursor in the event log of its guild, so that no row is
-- needed for each event and webhook.
CREATE TABLE events.endpoints (
  guild_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- The API key whose scopes decide which events are sent. Revoking the key disables the webhook.
  key_id text COLLATE "C" NOT NULL,
  -- NULL: all scopes.
  scopes text[],
  url text NOT NULL,
  -- Event types, groups such as ban.*, or *.
  types text[] NOT NULL,
  format text NOT NULL CHECK (format IN ('standard', 'chat')),
  description text,
  -- The signing secrets, encrypted with the key whose ID is secret_key. Until previous_until, events are also signed
  -- with the previous secret.
  secret bytea NOT NULL,
  secret_key text NOT NULL,
  previous_secret bytea,
  previous_until timestamptz,
  enabled boolean NOT NULL DEFAULT true,
  disabled_reason text CHECK (disabled_reason IN ('requested', 'operator', 'gone', 'failing', 'key_revoked')),
  -- Events up to this seq were sent, parked or left out.
  cursor_seq bigint NOT NULL,
  -- The newest event that may have to be sent to this webhook. The webhook is due while its cursor is below this seq.
  wanted_seq bigint NOT NULL,
  -- The time of the first failure since the last success.
  failing_since timestamptz,
  -- True if the last attempt failed or was slow. Such webhooks have their own limit on concurrent deliveries, so that
  -- they do not delay the others.
  is_slow boolean NOT NULL DEFAULT false,
  -- The lease of the process that is sending events to this webhook.
  lease uuid,
  leased_until timestamptz,
  -- When events were last sent to it: of the webhooks of a guild, the one that has waited longest is next.
  turn_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The number of events that wait for a retry (rows in the table parked).
  parked integer NOT NULL DEFAULT 0,
  -- When the next retry is due; while a process sends retries, the end of its lease.
  retry_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (guild_id, id),
  CHECK (enabled = (disabled_reason IS NULL))
) WITH (fillfactor = 70);

CREATE INDEX endpoints_due ON events.endpoints (is_slow, guild_id)
  WHERE enabled AND cursor_seq < wanted_seq AND parked < 1000;
CREATE INDEX endpoints_retry ON events.endpoints (retry_at) WHERE enabled AND retry_at IS NOT NULL;
CREATE INDEX endpoints_failing ON events.endpoints (failing_since) WHERE enabled AND failing_since IS NOT NULL;

-- Events that could not be delivered to a webhook, each with its own retry schedule.
CREATE TABLE events.parked (
  guild_id text COLLATE "C" NOT NULL,
  endpoint_id uuid NOT NULL,
  seq bigint NOT NULL,
  event_id uuid NOT NULL,
  -- The number of delivery attempts so far.
  attempts integer NOT NULL,
  next_attempt_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, endpoint_id, seq),
  FOREIGN KEY (guild_id, endpoint_id) REFERENCES events.endpoints ON DELETE CASCADE
);
CREATE INDEX parked_due ON events.parked (guild_id, endpoint_id, next_attempt_at);

-- Every delivery attempt, partitioned by day; partitions are dropped after seven days.
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
  -- The first KiB of the response; NULL if a person in the event was erased.
  answer text,
  next_attempt_at timestamptz,
  PRIMARY KEY (guild_id, endpoint_id, day, at, id)
) PARTITION BY RANGE (day);
CREATE INDEX deliveries_seq ON events.deliveries (guild_id, seq);
