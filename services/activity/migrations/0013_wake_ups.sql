-- Messages of the game platform that tell the servers of a universe to fetch their commands now. One row per universe, so
-- that all processes together send few of them.
CREATE TABLE activity.wake_ups (
  guild_id text COLLATE "C" NOT NULL,
  universe_id bigint NOT NULL,
  -- The servers and places that have new commands, as 'server:ID' and 'place:ID'; empty if all servers have.
  recipients text[] NOT NULL,
  -- True if commands were sent since the last message.
  is_requested boolean NOT NULL,
  requested_at timestamptz NOT NULL,
  -- The next message is not sent before this time.
  not_before timestamptz NOT NULL,
  PRIMARY KEY (guild_id, universe_id)
);
CREATE INDEX wake_ups_requested ON activity.wake_ups (requested_at);
