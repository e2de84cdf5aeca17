ALTER TABLE moderation.mirrored_universes
  -- True while the process that has leased the universe compares all bans. Only one universe of a guild is compared at a
  -- time.
  ADD COLUMN is_comparing boolean NOT NULL DEFAULT false,
  -- Why the last comparison was given up until the next night; last_error is that of the last reading of the log.
  ADD COLUMN compare_error text;
