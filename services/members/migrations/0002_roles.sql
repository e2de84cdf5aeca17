-- Roles that a sync has given, or was about to give: written before the platform is called.
CREATE TABLE members.grants (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  role_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, chat_id, role_id)
);

-- Who may change a member's roles now. A row whose time is over is free.
CREATE TABLE members.member_locks (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  holder uuid NOT NULL,
  held_until timestamptz NOT NULL,
  PRIMARY KEY (guild_id, chat_id)
);

CREATE INDEX member_locks_held_until ON members.member_locks (held_until);
