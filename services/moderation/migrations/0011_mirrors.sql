-- The guilds that mirror mutes to timeouts, as their settings say, with the comparison that follows when it is turned on.
CREATE TABLE moderation.timeout_guilds (
  guild_id text COLLATE "C" PRIMARY KEY,
  -- Transactions with a smaller ID may have decided mutes without knowing this row; null until that ID is known.
  complete_from xid8,
  -- The last player with a mute, and the last reported change of a timeout, that were queued.
  mutes_after bigint NOT NULL DEFAULT 0,
  changes_after bigint NOT NULL DEFAULT 0,
  -- The end of the comparison.
  compared_at timestamptz
);
CREATE INDEX timeout_guilds_comparing ON moderation.timeout_guilds (guild_id) WHERE compared_at IS NULL;
