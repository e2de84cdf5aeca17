-- The members whose timeouts the chat platform has reported as changed, for moderation. A reader passes the last ID that it
-- has read, so rows become visible in the order of their IDs: a transaction locks the sequence of changes before it takes
-- an ID.
CREATE TABLE members.timeout_changes (
  guild_id text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  chat_id text COLLATE "C" NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (guild_id, id)
);
CREATE INDEX timeout_changes_id ON members.timeout_changes (id);
CREATE INDEX timeout_changes_guild ON members.timeout_changes (guild_id, chat_id);
CREATE INDEX timeout_changes_changed ON members.timeout_changes (changed_at);
