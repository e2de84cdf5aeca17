-- The number of links of each guild. Triggers update it, so that it stays correct whoever changes links: also the
-- previous release and erasure. A guild has several rows, whose sum is the count: a transaction updates a row that no
-- other transaction has locked, or inserts one, so that transactions never wait for each other.
CREATE TABLE lookup.link_counts (
  guild_id text COLLATE "C" NOT NULL,
  part bigint NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (guild_id, part)
) WITH (fillfactor = 50);

CREATE SEQUENCE lookup.link_count_parts;

CREATE FUNCTION lookup.count_links() RETURNS trigger LANGUAGE plpgsql AS $$
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
      VALUES (changed_guild.guild_id, nextval('lookup.link_count_parts'), changed_guild.difference);
    END IF;
  END LOOP;
  RETURN NULL;
END $$;

-- Blocks writes to links until the existing links are counted and the triggers exist.
LOCK TABLE lookup.links IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO lookup.link_counts (guild_id, part, count)
SELECT guild_id, nextval('lookup.link_count_parts'), count FROM (
  SELECT guild_id, count(*) AS count FROM lookup.links GROUP BY 1
) AS counted;
CREATE TRIGGER links_added AFTER INSERT ON lookup.links
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION lookup.count_links();
CREATE TRIGGER links_removed AFTER DELETE ON lookup.links
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION lookup.count_links();
