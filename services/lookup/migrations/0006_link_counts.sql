-- How many links a guild has, without counting them. Kept by the table itself, so that whatever writes links, also an
-- earlier release and erasure, keeps it right. Several rows a guild, so that writers seldom wait for each other.
CREATE TABLE lookup.link_counts (
  guild_id text COLLATE "C" NOT NULL,
  shard smallint NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (guild_id, shard)
) WITH (fillfactor = 50);

CREATE FUNCTION lookup.link_shard(chat_id text) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (abs(hashtext(chat_id)::bigint) % 8)::smallint;

-- Rows are written in one order, so that two statements never wait for each other.
CREATE FUNCTION lookup.count_added_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO lookup.link_counts AS counted (guild_id, shard, count)
  SELECT guild_id, lookup.link_shard(chat_id) AS shard, count(*) FROM changed GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (guild_id, shard) DO UPDATE SET count = counted.count + excluded.count;
  RETURN NULL;
END $$;

CREATE FUNCTION lookup.count_removed_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO lookup.link_counts AS counted (guild_id, shard, count)
  SELECT guild_id, lookup.link_shard(chat_id) AS shard, -count(*) FROM changed GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (guild_id, shard) DO UPDATE SET count = counted.count + excluded.count;
  RETURN NULL;
END $$;

-- Nobody writes links between the count and the triggers.
LOCK TABLE lookup.links IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO lookup.link_counts (guild_id, shard, count)
SELECT guild_id, lookup.link_shard(chat_id), count(*) FROM lookup.links GROUP BY 1, 2;
CREATE TRIGGER links_added AFTER INSERT ON lookup.links
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION lookup.count_added_links();
CREATE TRIGGER links_removed AFTER DELETE ON lookup.links
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION lookup.count_removed_links();
