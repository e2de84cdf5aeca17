-- The sessions of persons in the console. A session belongs to a person and to no guild: guild_id is always empty.
CREATE TABLE auth.sessions (
  guild_id text COLLATE "C" NOT NULL DEFAULT '' CHECK (guild_id = ''),
  -- SHA-256 of the token, which only the browser has
  token_hash bytea NOT NULL,
  session_id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- a chat ID, `oidc:<subject>` or `link:<id>`
  person_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN provider = 'chat' THEN person_id END) STORED,
  person_name text NOT NULL,
  provider text NOT NULL CHECK (provider IN ('chat', 'oidc', 'link')),
  -- What the provider said when it was last read: {guild ID: {name, role}}, and whether the person is an operator.
  guilds jsonb NOT NULL,
  is_operator boolean NOT NULL,
  -- encrypted; null if the provider is never read again
  credentials bytea,
  rights_read_at timestamptz NOT NULL,
  -- set while a process reads the rights again, so that only one does
  reading_until timestamptz,
  -- when reading the rights again last failed; null after a success
  failed_at timestamptz,
  address text NOT NULL,
  user_agent text NOT NULL,
  created_at timestamptz NOT NULL,
  used_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, token_hash)
) WITH (fillfactor = 70);

CREATE INDEX sessions_person ON auth.sessions (guild_id, person_id);
CREATE INDEX sessions_chat ON auth.sessions (guild_id, chat_id) WHERE chat_id IS NOT NULL;
CREATE INDEX sessions_created_at ON auth.sessions (created_at);

-- The roles that chat accounts were given in a guild. An owner or administrator of the guild needs no row.
CREATE TABLE auth.guild_access (
  guild_id text COLLATE "C" NOT NULL,
  access_id uuid NOT NULL DEFAULT gen_random_uuid(),
  chat_id text COLLATE "C" NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'moderator', 'admin', 'owner')),
  -- the ID of the person; null after that person was erased
  given_by text COLLATE "C",
  given_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, access_id)
);

CREATE UNIQUE INDEX guild_access_chat ON auth.guild_access (guild_id, chat_id);
CREATE INDEX guild_access_given_by ON auth.guild_access (guild_id, given_by) WHERE given_by IS NOT NULL;
-- Finds the guilds of a person who signs in.
CREATE INDEX guild_access_person ON auth.guild_access (chat_id);

-- One-time links that sign a person in to one guild.
CREATE TABLE auth.sign_in_links (
  guild_id text COLLATE "C" NOT NULL,
  -- SHA-256 of the token in the link
  token_hash bytea NOT NULL,
  link_id uuid NOT NULL DEFAULT gen_random_uuid(),
  role text NOT NULL CHECK (role IN ('viewer', 'moderator', 'admin', 'owner')),
  created_by text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (guild_id, token_hash)
);

CREATE INDEX sign_in_links_expires_at ON auth.sign_in_links (expires_at);
