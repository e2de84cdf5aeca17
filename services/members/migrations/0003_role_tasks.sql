-- Members whose roles must be synchronised because their link has changed.
CREATE TABLE members.role_tasks (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  -- Changes with every change of the link, so that a process does not finish a task that was renewed in the meantime.
  version uuid NOT NULL,
  created_at timestamptz NOT NULL,
  -- The time from which any replica may process the task.
  due_at timestamptz NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  PRIMARY KEY (guild_id, chat_id)
);

CREATE INDEX role_tasks_due ON members.role_tasks (due_at);
CREATE INDEX role_tasks_created ON members.role_tasks (created_at);
