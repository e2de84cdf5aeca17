-- How a linked account can be brought into the guild with its roles: by an invite to this channel (null: no invites), and by
-- allowing the bot's application to add it.
ALTER TABLE members.guild_settings
  ADD COLUMN invite_channel_id text COLLATE "C",
  ADD COLUMN oauth_join boolean NOT NULL DEFAULT false;

-- The newest invite of each linked account. While it is valid, the roles in members.grants stay, although the account is
-- not in the guild yet.
CREATE TABLE members.role_invites (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  channel_id text COLLATE "C" NOT NULL,
  role_ids text[] NOT NULL,
  -- The address that opens the invite; null until the chat platform has created it.
  url text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- When the last of the invites of the account expires.
  kept_until timestamptz NOT NULL,
  PRIMARY KEY (guild_id, chat_id)
);

CREATE INDEX role_invites_kept_until ON members.role_invites (kept_until);
