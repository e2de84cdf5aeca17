-- The settings of a guild. A guild without a row has the defaults.
CREATE TABLE members.guild_settings (
  guild_id text COLLATE "C" PRIMARY KEY,
  sync_on_link boolean NOT NULL DEFAULT true,
  sync_on_join boolean NOT NULL DEFAULT false,
  sync_on_rank_change boolean NOT NULL DEFAULT false,
  -- The template of the nicknames of members; null: nicknames are not changed.
  member_template text,
  -- Empty: bans are not mirrored.
  mirror_bans_universe_ids bigint[] NOT NULL DEFAULT '{}',
  mirror_bans_exclude_alts boolean NOT NULL DEFAULT false,
  mirror_timeouts boolean NOT NULL DEFAULT false,
  push_commands boolean NOT NULL DEFAULT false,
  -- Increases with every change.
  version bigint NOT NULL DEFAULT 1,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Finds the guilds whose bans are mirrored.
CREATE INDEX guild_settings_mirroring ON members.guild_settings (guild_id) WHERE mirror_bans_universe_ids <> '{}';

-- The walk through the linked members of each guild that synchronises roles after changes of rank. The table is also a
-- queue, whose item has one ID in every guild: a worker reads the ranks of a page of members, and sets run_at to the time
-- of the next page.
CREATE TABLE members.rank_polls (
  guild_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  -- Where the next page begins, as lookup names it; empty at the start of a round.
  position text NOT NULL DEFAULT '',
  round_started_at timestamptz,
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  attempts integer NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  holder uuid,
  leased_until timestamptz,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  last_error text,
  PRIMARY KEY (guild_id, id)
) WITH (fillfactor = 50);

CREATE INDEX rank_polls_due ON members.rank_polls (guild_id, run_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX rank_polls_queued_at ON members.rank_polls (queued_at) WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX rank_polls_dead ON members.rank_polls (guild_id, id) WHERE state = 'dead';

-- The ranks of linked members when they were last read, to notice changes.
CREATE TABLE members.known_ranks (
  guild_id text COLLATE "C" NOT NULL,
  chat_id text COLLATE "C" NOT NULL,
  game_id bigint NOT NULL,
  -- The ranks by group, of the groups that bindings name.
  ranks jsonb NOT NULL,
  -- The time of the last reading, to within a day.
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (guild_id, chat_id)
) WITH (fillfactor = 80);

CREATE INDEX known_ranks_game ON members.known_ranks (guild_id, game_id);
CREATE INDEX known_ranks_seen ON members.known_ranks (seen_at);

-- Why the roles are synchronised: after a change of the link, of the membership, or of a rank.
ALTER TABLE members.role_tasks
  ADD COLUMN cause text NOT NULL DEFAULT 'link' CHECK (cause IN ('link', 'join', 'rank'));
