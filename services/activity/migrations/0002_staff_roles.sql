-- The chat roles that make a member staff in the game. Rows are kept until an operator removes them.
CREATE TABLE activity.staff_roles (
  guild_id text COLLATE "C" NOT NULL,
  chat_role_id text COLLATE "C" NOT NULL,
  level smallint NOT NULL CHECK (level BETWEEN 0 AND 10),
  name text NOT NULL,
  permissions text[] NOT NULL,
  updated_at timestamptz NOT NULL,
  CONSTRAINT staff_roles_guild PRIMARY KEY (guild_id, chat_role_id)
);
