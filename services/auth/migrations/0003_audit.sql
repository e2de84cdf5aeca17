-- Makes the audit log append-only, with a hash chain: deploy/decisions/0011.

-- The last entry of each guild's chain; the empty ID is the chain of entries that concern no guild. Appending an entry
-- locks the row, so that sequences have no gaps and chains do not fork.
CREATE TABLE auth.audit_heads (
  guild_id text COLLATE "C" PRIMARY KEY,
  sequence bigint NOT NULL,
  chain bytea NOT NULL
) WITH (fillfactor = 50);

-- Signed checkpoints: the hash of the chain at an entry, signed with a key that only auth has. After that key is
-- rotated, all chains are signed again.
CREATE TABLE auth.audit_checkpoints (
  guild_id text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  -- the ID of the signing key
  key_id text NOT NULL,
  chain bytea NOT NULL,
  created_at timestamptz NOT NULL,
  signature bytea NOT NULL,
  PRIMARY KEY (guild_id, sequence, key_id)
);

ALTER TABLE auth.audit
  -- Nullable, because earlier versions append entries without these columns.
  ADD COLUMN service text NOT NULL DEFAULT 'auth',
  ADD COLUMN method text NOT NULL DEFAULT '',
  ADD COLUMN sequence bigint,
  -- null, like the details, after the details were erased
  ADD COLUMN salt bytea,
  -- SHA-256 of the salt and the details as text; kept when the details are erased
  ADD COLUMN digest bytea,
  -- SHA-256 of the previous entry's hash and of this entry
  ADD COLUMN chain bytea,
  -- The persons whom an entry is about, to find the entry when a person is erased.
  ADD COLUMN game_id bigint GENERATED ALWAYS AS ((details ->> 'game_id')::bigint) STORED,
  ADD COLUMN chat_id text COLLATE "C" GENERATED ALWAYS AS (details ->> 'chat_id') STORED,
  ALTER COLUMN details DROP NOT NULL;

-- Returns the bytes of an entry that its hash covers. Changing the order or the text of the fields would break every
-- chain.
CREATE FUNCTION auth.audit_link(previous bytea, entry auth.audit) RETURNS bytea
LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT pg_catalog.sha256(previous || pg_catalog.convert_to(pg_catalog.jsonb_build_array(
    entry.guild_id, entry.sequence, (extract(epoch FROM entry.at) * 1000000)::bigint, entry.actor, entry.action,
    entry.number, entry.service, entry.method, pg_catalog.encode(entry.digest, 'hex'))::text, 'UTF8'))
$$;

-- Runs with the rights of its owner: the role that appends entries can neither choose their sequence nor change the
-- chain heads.
CREATE FUNCTION auth.chain_audit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  head auth.audit_heads;
BEGIN
  INSERT INTO auth.audit_heads AS heads (guild_id, sequence, chain) VALUES (NEW.guild_id, 1, '')
  ON CONFLICT (guild_id) DO UPDATE SET sequence = heads.sequence + 1
  RETURNING * INTO head;
  NEW.details := coalesce(NEW.details, '{}');
  NEW.sequence := head.sequence;
  NEW.salt := pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) || pg_catalog.uuid_send(pg_catalog.gen_random_uuid());
  NEW.digest := pg_catalog.sha256(NEW.salt || pg_catalog.convert_to(NEW.details::text, 'UTF8'));
  NEW.chain := auth.audit_link(head.chain, NEW);
  UPDATE auth.audit_heads SET chain = NEW.chain WHERE guild_id = NEW.guild_id;
  RETURN NEW;
END
$$;

-- Adds the entries of earlier versions to the chains, in the order in which they were written.
DO $$
DECLARE
  entry auth.audit;
  head auth.audit_heads;
BEGIN
  FOR entry IN SELECT * FROM auth.audit ORDER BY guild_id, id LOOP
    INSERT INTO auth.audit_heads AS heads (guild_id, sequence, chain) VALUES (entry.guild_id, 1, '')
    ON CONFLICT (guild_id) DO UPDATE SET sequence = heads.sequence + 1
    RETURNING * INTO head;
    entry.sequence := head.sequence;
    entry.salt := pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) || pg_catalog.uuid_send(pg_catalog.gen_random_uuid());
    entry.digest := pg_catalog.sha256(entry.salt || pg_catalog.convert_to(entry.details::text, 'UTF8'));
    entry.chain := auth.audit_link(head.chain, entry);
    UPDATE auth.audit_heads SET chain = entry.chain WHERE guild_id = entry.guild_id;
    UPDATE auth.audit SET sequence = entry.sequence, salt = entry.salt, digest = entry.digest, chain = entry.chain
    WHERE guild_id = entry.guild_id AND id = entry.id;
  END LOOP;
END
$$;

ALTER TABLE auth.audit
  ALTER COLUMN sequence SET NOT NULL,
  ALTER COLUMN digest SET NOT NULL,
  ALTER COLUMN chain SET NOT NULL;

CREATE UNIQUE INDEX audit_sequence ON auth.audit (guild_id, sequence);
CREATE INDEX audit_game ON auth.audit (guild_id, game_id) WHERE game_id IS NOT NULL;
CREATE INDEX audit_chat ON auth.audit (guild_id, chat_id) WHERE chat_id IS NOT NULL;

CREATE TRIGGER chain_audit BEFORE INSERT ON auth.audit FOR EACH ROW EXECUTE FUNCTION auth.chain_audit();

-- Erases the details of entries. The operator, the action and the time of each entry stay in the chain.
CREATE FUNCTION auth.erase_audit_of_guild(guild text, most integer) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  WITH erased AS (
    UPDATE auth.audit SET salt = NULL, details = NULL
    WHERE guild_id = guild AND sequence = ANY(ARRAY(
      SELECT sequence FROM auth.audit
      WHERE guild_id = guild AND salt IS NOT NULL AND action NOT IN ('erase_guild', 'erase_user', 'EraseGuild', 'EraseUser')
      ORDER BY sequence LIMIT most FOR UPDATE))
    RETURNING 1)
  SELECT count(*)::integer FROM erased
$$;

CREATE FUNCTION auth.erase_audit_of_user(guild text, game bigint, chat text, most integer) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  WITH erased AS (
    UPDATE auth.audit SET salt = NULL, details = NULL
    WHERE guild_id = guild AND sequence = ANY(ARRAY(
      SELECT sequence FROM auth.audit WHERE guild_id = guild AND (game_id = game OR chat_id = chat)
      ORDER BY sequence LIMIT most FOR UPDATE))
    RETURNING 1)
  SELECT count(*)::integer FROM erased
$$;

-- Deletes the entries up to one that has a checkpoint, and all earlier checkpoints. Never deletes entries younger than
-- 30 days, whatever the caller requests.
CREATE FUNCTION auth.prune_audit(guild text, last bigint) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  WITH allowed AS (
    SELECT FROM auth.audit_checkpoints WHERE guild_id = guild AND sequence = last
      AND NOT EXISTS (
        SELECT FROM auth.audit WHERE guild_id = guild AND sequence <= last AND at > now() - interval '30 days')),
  pruned AS (
    DELETE FROM auth.audit WHERE guild_id = guild AND sequence <= last AND EXISTS (SELECT FROM allowed) RETURNING 1),
  replaced AS (
    DELETE FROM auth.audit_checkpoints
    WHERE guild_id = guild AND sequence < last AND EXISTS (SELECT FROM allowed))
  SELECT count(*)::integer FROM pruned
$$;

REVOKE ALL ON FUNCTION auth.chain_audit(), auth.erase_audit_of_guild(text, integer),
  auth.erase_audit_of_user(text, bigint, text, integer), auth.prune_audit(text, bigint) FROM PUBLIC;
