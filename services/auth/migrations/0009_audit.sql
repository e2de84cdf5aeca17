-- The record before the change that an event reports; for the audit (deploy/decisions/0021).
ALTER TABLE auth.events ADD COLUMN before jsonb;

-- The ID of the entry in the events service, so that it is in the audit once. NULL for entries that auth itself writes.
-- Neither this column nor the persons are part of an entry's digest.
ALTER TABLE auth.audit
  ADD COLUMN source_id uuid,
  -- All persons whom an entry names, as in events: chat:<chat ID> and game:<game ID>.
  ADD COLUMN persons text[];
CREATE UNIQUE INDEX audit_source ON auth.audit (guild_id, source_id) WHERE source_id IS NOT NULL;
CREATE INDEX audit_persons ON auth.audit USING gin (persons) WHERE persons IS NOT NULL;

-- Which process of auth reads the changes of keys and persons from the events service. The table has one row.
CREATE TABLE auth.audit_feed (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  owner uuid,
  leased_until timestamptz
) WITH (fillfactor = 50);
INSERT INTO auth.audit_feed DEFAULT VALUES;

CREATE OR REPLACE FUNCTION auth.erase_audit_of_guild(guild text, most integer) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  WITH erased AS (
    UPDATE auth.audit SET salt = NULL, details = NULL, persons = NULL
    WHERE guild_id = guild AND sequence = ANY(ARRAY(
      SELECT sequence FROM auth.audit
      WHERE guild_id = guild AND salt IS NOT NULL AND action NOT IN ('erase_guild', 'erase_user', 'EraseGuild', 'EraseUser')
      ORDER BY sequence LIMIT most FOR UPDATE))
    RETURNING 1)
  SELECT count(*)::integer FROM erased
$$;

CREATE OR REPLACE FUNCTION auth.erase_audit_of_user(guild text, game bigint, chat text, most integer) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  WITH erased AS (
    UPDATE auth.audit SET salt = NULL, details = NULL, persons = NULL
    WHERE guild_id = guild AND sequence = ANY(ARRAY(
      SELECT sequence FROM auth.audit
      WHERE guild_id = guild AND (game_id = game OR chat_id = chat
        OR persons @> ARRAY['game:' || game] OR persons @> ARRAY['chat:' || chat])
      ORDER BY sequence LIMIT most FOR UPDATE))
    RETURNING 1)
  SELECT count(*)::integer FROM erased
$$;
