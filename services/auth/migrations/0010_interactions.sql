-- Slash commands of members on the chat platform, as a queue. A row exists from when the platform gets its response until
-- the retention deletes it, so that each interaction is accepted once. Once it is handled, only its ID, the member and the
-- command are left.
CREATE TABLE auth.interactions (
  guild_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  command text COLLATE "C" NOT NULL,
  application_id text COLLATE "C" NOT NULL,
  -- the platform's token for editing the response, encrypted; null once the interaction is handled
  token bytea,
  -- the member's permissions on the platform, and the options of the command by name
  permissions text COLLATE "C" NOT NULL,
  options jsonb NOT NULL,
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  attempts integer NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  holder uuid,
  leased_until timestamptz,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  last_error text,
  PRIMARY KEY (guild_id, id)
) WITH (fillfactor = 50);

CREATE INDEX interactions_queued ON auth.interactions (guild_id, run_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX interactions_open ON auth.interactions (queued_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX interactions_dead ON auth.interactions (guild_id, id) WHERE state = 'dead';
CREATE INDEX interactions_queued_at ON auth.interactions (queued_at);
-- For erasing a member.
CREATE INDEX interactions_chat_id ON auth.interactions (guild_id, chat_id);
