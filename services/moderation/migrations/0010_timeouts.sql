-- Until when a player's mute and the timeout of the linked chat account lasted when they were last made equal.
CREATE TABLE moderation.timeouts (
  guild_id text COLLATE "C" NOT NULL,
  game_id bigint NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  -- null: there was none; infinity: permanent
  muted_until timestamptz,
  timeout_until timestamptz,
  -- When both have ended.
  ends_at timestamptz NOT NULL,
  -- When the timeout has to be extended, because the mute is longer than the platform's longest timeout.
  renew_at timestamptz,
  PRIMARY KEY (guild_id, game_id)
);
CREATE INDEX timeouts_chat ON moderation.timeouts (guild_id, chat_id);
CREATE INDEX timeouts_ended ON moderation.timeouts (ends_at);
CREATE INDEX timeouts_renewed ON moderation.timeouts (renew_at) WHERE renew_at IS NOT NULL;

-- Players whose mutes and timeouts are to be compared and made equal.
CREATE TABLE moderation.timeout_tasks (
  guild_id text COLLATE "C" NOT NULL,
  game_id bigint NOT NULL,
  -- Increases whenever there is a new reason, also while a process is working on the task.
  revision bigint NOT NULL DEFAULT 1,
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  attempts integer NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  holder uuid,
  leased_until timestamptz,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  last_error text,
  PRIMARY KEY (guild_id, game_id)
) WITH (fillfactor = 50);
CREATE INDEX timeout_tasks_due ON moderation.timeout_tasks (guild_id, run_at)
  WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX timeout_tasks_queued_at ON moderation.timeout_tasks (queued_at)
  WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX timeout_tasks_dead ON moderation.timeout_tasks (guild_id, game_id) WHERE state = 'dead';

-- How far the changes of timeouts that members reports were read, by the one process that has the lease.
CREATE TABLE moderation.timeout_feed (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  position bigint NOT NULL DEFAULT 0,
  leased_until timestamptz NOT NULL DEFAULT clock_timestamp(),
  holder uuid
);
INSERT INTO moderation.timeout_feed DEFAULT VALUES;
