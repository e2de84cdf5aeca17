-- With Citus the trigger runs on the node of the guild, which does not have the sequence lookup.link_count_parts.
CREATE OR REPLACE FUNCTION lookup.count_links() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed_guild record;
BEGIN
  FOR changed_guild IN
    SELECT guild_id, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END AS difference FROM changed GROUP BY 1
  LOOP
    -- A scalar subquery is evaluated once; one behind IN may be evaluated again, and then take a further row.
    UPDATE lookup.link_counts SET count = count + changed_guild.difference
    WHERE guild_id = changed_guild.guild_id AND part = (
      SELECT part FROM lookup.link_counts WHERE guild_id = changed_guild.guild_id
      LIMIT 1 FOR UPDATE SKIP LOCKED
    );
    IF NOT FOUND THEN
      INSERT INTO lookup.link_counts (guild_id, part, count)
      VALUES (changed_guild.guild_id, (random() * 9e18)::bigint, changed_guild.difference);
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
