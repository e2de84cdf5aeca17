-- How many changes persons have made to the keys, the roles and the data of a guild on a day (UTC), so that nobody fills
-- the audit, whose entries are stored for at least 30 days.
ALTER TABLE auth.guilds
  ADD COLUMN person_changes_on date NOT NULL DEFAULT '1970-01-01',
  ADD COLUMN person_changes integer NOT NULL DEFAULT 0;
