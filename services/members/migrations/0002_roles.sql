-- Roles that a synchronisation has assigned or was about to assign. Rows are written before the platform is called.
CREATE TABLE members.grants (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  role_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, chat_id, role_id)
);

-- Locks: the process that may change the roles of a member. A row whose lease has expired counts as unlocked.
CREATE TABLE members.member_locks (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  holder uuid NOT NULL,
  held_until timestamptz NOT NULL,
  PRIMARY KEY (guild_id, chat_id)
);

CREATE INDEX member_locks_held_until ON members.member_locks (held_until);
