-- The universes of the game platform to which a guild's bans are mirrored, with the progress of reading what was changed
-- there. A universe belongs to one guild: the bans of two guilds would undo each other.
CREATE TABLE moderation.mirrored_universes (
  guild_id text COLLATE "C" NOT NULL,
  universe_id bigint NOT NULL,
  -- Whether a mirrored ban leaves out the player's alternative accounts.
  exclude_alts boolean NOT NULL,
  -- The platform's log of changes was read up to the entry of this time; null before the first reading.
  log_read_to timestamptz,
  -- The time of the next reading; leased_until belongs to the process that is reading.
  run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  leased_until timestamptz,
  holder uuid,
  -- The time of the next comparison of all bans.
  reconcile_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The end of the last comparison, and its numbers of restrictions and of differences.
  reconciled_at timestamptz,
  compared bigint,
  drifted bigint,
  last_error text,
  PRIMARY KEY (guild_id, universe_id)
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX mirrored_universes_universe ON moderation.mirrored_universes (universe_id);

-- What a guild's ban and the restriction on the platform were when they were last made equal, for each player and each
-- universe (place_id 0) or place.
CREATE TABLE moderation.restrictions (
  guild_id text COLLATE "C" NOT NULL,
  game_id bigint NOT NULL,
  universe_id bigint NOT NULL,
  place_id bigint NOT NULL,
  -- The ban that was in force; null: none.
  punishment_id bigint,
  -- The restriction that was in force; started_at is null if there was none. ends_at: infinity if it is permanent, and
  -- otherwise the time from which the row is not needed any more.
  started_at timestamptz,
  ends_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Where the agreed state was decided.
  origin text NOT NULL DEFAULT 'guild' CHECK (origin IN ('guild', 'platform')),
  -- The last write that the platform has acknowledged. The private reason of the restriction names it.
  written_id uuid,
  -- A write that may be in flight, with the ban that it mirrors (null: it ends the restriction) and its duration.
  pending_id uuid,
  pending_punishment_id bigint,
  pending_seconds bigint,
  pending_since timestamptz,
  -- The times of the last two writes: the platform allows two a minute for a player in a universe.
  written_at timestamptz,
  written_before_at timestamptz,
  -- True if the platform may have changed the restriction since.
  needs_read boolean NOT NULL DEFAULT false,
  -- The place does not belong to the universe, as far as is known until this time.
  foreign_until timestamptz,
  -- When a comparison of all bans found a difference that is not resolved yet.
  drifted_at timestamptz,
  PRIMARY KEY (guild_id, game_id, universe_id, place_id),
  FOREIGN KEY (guild_id, universe_id) REFERENCES moderation.mirrored_universes ON DELETE CASCADE
) WITH (fillfactor = 70);

CREATE INDEX restrictions_universe ON moderation.restrictions (guild_id, universe_id, place_id, game_id);
CREATE INDEX restrictions_ended ON moderation.restrictions (ends_at);
CREATE INDEX restrictions_drifted ON moderation.restrictions (guild_id, game_id, universe_id, place_id)
  WHERE drifted_at IS NOT NULL;

-- Players whose bans and restrictions are to be compared and made equal.
CREATE TABLE moderation.restriction_tasks (
  guild_id text COLLATE "C" NOT NULL,
  game_id bigint NOT NULL,
  -- Increases whenever there is a new reason, also while a process is working on the task.
  revision bigint NOT NULL DEFAULT 1,
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'dead', 'skipped')),
  attempts integer NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  holder uuid,
  leased_until timestamptz,
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz,
  last_error text,
  PRIMARY KEY (guild_id, game_id)
) WITH (fillfactor = 50);

CREATE INDEX restriction_tasks_due ON moderation.restriction_tasks (guild_id, run_at)
  WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX restriction_tasks_queued_at ON moderation.restriction_tasks (queued_at)
  WHERE finished_at IS NULL AND state = 'queued';
CREATE INDEX restriction_tasks_dead ON moderation.restriction_tasks (guild_id, game_id) WHERE state = 'dead';
