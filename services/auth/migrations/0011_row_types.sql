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
