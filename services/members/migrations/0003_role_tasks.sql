-- Members whose roles are to be looked at, since their link has changed.
CREATE TABLE members.role_tasks (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  -- changes with every change of the link, so that who does the task ends no later one
  version uuid NOT NULL,
  created_at timestamptz NOT NULL,
  -- when any replica may do it
  due_at timestamptz NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  PRIMARY KEY (guild_id, chat_id)
);

CREATE INDEX role_tasks_due ON members.role_tasks (due_at);
CREATE INDEX role_tasks_created ON members.role_tasks (created_at);
