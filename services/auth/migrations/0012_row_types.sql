-- With Citus a trigger runs on a shard, whose row type is not auth.audit. The bytes that the hash covers are the same as
-- those of auth.audit_link.
CREATE OR REPLACE FUNCTION auth.chain_audit() RETURNS trigger
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
  NEW.chain := pg_catalog.sha256(head.chain || pg_catalog.convert_to(pg_catalog.jsonb_build_array(
    NEW.guild_id, NEW.sequence, (extract(epoch FROM NEW.at) * 1000000)::bigint, NEW.actor, NEW.action,
    NEW.number, NEW.service, NEW.method, pg_catalog.encode(NEW.digest, 'hex'))::text, 'UTF8'));
  UPDATE auth.audit_heads SET chain = NEW.chain WHERE guild_id = NEW.guild_id;
  RETURN NEW;
END
$$;

-- Citus does not run distributed statements with the parameters of functions in SQL. What these functions do is the same.
CREATE OR REPLACE FUNCTION auth.erase_audit_of_guild(guild text, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  erased integer;
BEGIN
  UPDATE auth.audit SET salt = NULL, details = NULL, persons = NULL
  WHERE guild_id = guild AND sequence = ANY(ARRAY(
    SELECT sequence FROM auth.audit
    WHERE guild_id = guild AND salt IS NOT NULL AND action NOT IN ('erase_guild', 'erase_user', 'EraseGuild', 'EraseUser')
    ORDER BY sequence LIMIT most FOR UPDATE));
  GET DIAGNOSTICS erased = ROW_COUNT;
  RETURN erased;
END
$$;

CREATE OR REPLACE FUNCTION auth.erase_audit_of_user(guild text, game bigint, chat text, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  erased integer;
BEGIN
  UPDATE auth.audit SET salt = NULL, details = NULL, persons = NULL
  WHERE guild_id = guild AND sequence = ANY(ARRAY(
    SELECT sequence FROM auth.audit
    WHERE guild_id = guild AND (game_id = game OR chat_id = chat
      OR persons @> ARRAY['game:' || game] OR persons @> ARRAY['chat:' || chat])
    ORDER BY sequence LIMIT most FOR UPDATE));
  GET DIAGNOSTICS erased = ROW_COUNT;
  RETURN erased;
END
$$;

CREATE OR REPLACE FUNCTION auth.prune_audit(guild text, last bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  pruned integer;
BEGIN
  IF NOT EXISTS (SELECT FROM auth.audit_checkpoints WHERE guild_id = guild AND sequence = last)
    OR EXISTS (SELECT FROM auth.audit WHERE guild_id = guild AND sequence <= last AND at > now() - interval '30 days') THEN
    RETURN 0;
  END IF;
  DELETE FROM auth.audit WHERE guild_id = guild AND sequence <= last;
  GET DIAGNOSTICS pruned = ROW_COUNT;
  DELETE FROM auth.audit_checkpoints WHERE guild_id = guild AND sequence < last;
  RETURN pruned;
END
$$;
