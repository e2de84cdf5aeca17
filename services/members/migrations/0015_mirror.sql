-- The mirror of guilds and members of the chat platform. Its websocket keeps it current; without the websocket the rows
-- of members are read again after some seconds.

-- The connections to the chat platform's websocket. Each shard has one owner, and what another process needs to resume
-- its session. A shard belongs to no guild: the platform distributes the guilds to the shards.
CREATE TABLE members.chat_shards (
  shard_count integer NOT NULL,
  shard_id integer NOT NULL,
  holder uuid,
  leased_until timestamptz NOT NULL DEFAULT '-infinity',
  session_id text,
  -- The number of the last event of the session that is stored in the mirror.
  sequence bigint,
  resume_url text,
  bot_id text COLLATE "C",
  -- Changes when a session begins that does not continue the previous one: events in between were missed.
  epoch uuid,
  -- Until when the mirror may be used without calling the platform. The owner extends it while it is connected and has
  -- stored what it received.
  live_until timestamptz NOT NULL DEFAULT '-infinity',
  -- When the owner last asked for a new session, which the platform limits.
  identified_at timestamptz NOT NULL DEFAULT '-infinity',
  -- Why the platform refused the connection; null if it did not.
  refused text,
  PRIMARY KEY (shard_count, shard_id)
) WITH (fillfactor = 50);

CREATE TABLE members.mirror_guilds (
  guild_id text COLLATE "C" PRIMARY KEY,
  shard_count integer NOT NULL,
  shard_id integer NOT NULL,
  -- The epoch of the shard in which the platform last sent the whole guild.
  session_epoch uuid NOT NULL,
  -- Changes whenever the platform sends the whole guild: rows of members with an older epoch may have missed changes.
  epoch uuid NOT NULL,
  -- The epoch before, and when it ended. Its rows serve permission lookups while the platform cannot be called.
  previous_epoch uuid,
  gap_at timestamptz,
  -- False during an outage of the guild on the platform.
  is_available boolean NOT NULL DEFAULT true,
  owner_id text COLLATE "C",
  -- The roles as the platform sends them, reduced to what is used.
  roles jsonb NOT NULL,
  bot_roles text[] NOT NULL,
  -- Grows with each change of the guild, so that processes know whether what they have in memory is current.
  version bigint NOT NULL DEFAULT 1,
  -- When the guild last used this service; null if it never did. Members are only mirrored for guilds that use it.
  used_at timestamptz,
  seen_at timestamptz NOT NULL
);
CREATE INDEX mirror_guilds_seen ON members.mirror_guilds (seen_at);

CREATE TABLE members.mirror_members (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  -- The epoch of the guild from which on the websocket has kept the row current; null if it was read without it.
  epoch uuid,
  username text NOT NULL,
  nickname text,
  roles text[] NOT NULL,
  -- Unix seconds, as the platform reports it.
  joined_at bigint,
  timeout_until timestamptz,
  -- Grows with each change, so that a response of the platform that is older than an event does not replace it.
  version bigint NOT NULL DEFAULT 1,
  read_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, chat_id)
) WITH (fillfactor = 80);
CREATE INDEX mirror_members_seen ON members.mirror_members (seen_at);
