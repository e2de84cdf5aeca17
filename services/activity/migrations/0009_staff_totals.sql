-- What each staff member did in each hour (width 3600) and each quarter of an hour (width 900), for reports: a report adds
-- up hours, and quarters where a day begins within an hour (UTC), as in India. Added in the transaction that ends a
-- session or logs an action. A session counts as started in the slot of its start; its seconds and idle seconds are split.
CREATE TABLE activity.staff_totals (
  guild_id text COLLATE "C" NOT NULL,
  game_id bigint NOT NULL,
  -- seconds
  width smallint NOT NULL CHECK (width IN (900, 3600)),
  -- its start
  slot timestamptz NOT NULL,
  sessions integer NOT NULL DEFAULT 0,
  seconds integer NOT NULL DEFAULT 0,
  idle_seconds integer NOT NULL DEFAULT 0,
  CONSTRAINT staff_totals_staff PRIMARY KEY (guild_id, game_id, width, slot)
) WITH (fillfactor = 80);
CREATE INDEX staff_totals_slot ON activity.staff_totals (slot);

-- Actions by type. The empty type stands for all types beyond the first 20 of a staff member in an hour.
CREATE TABLE activity.action_totals (
  guild_id text COLLATE "C" NOT NULL,
  game_id bigint NOT NULL,
  width smallint NOT NULL CHECK (width IN (900, 3600)),
  slot timestamptz NOT NULL,
  action_type text COLLATE "C" NOT NULL,
  actions integer NOT NULL,
  CONSTRAINT action_totals_staff PRIMARY KEY (guild_id, game_id, width, slot, action_type)
) WITH (fillfactor = 80);
CREATE INDEX action_totals_slot ON activity.action_totals (slot);

-- Sessions that ended before. At most the first seven days of a session count, and at most its length as idle.
INSERT INTO activity.staff_totals (guild_id, game_id, width, slot, sessions, seconds, idle_seconds)
SELECT guild_id, game_id, width, to_timestamp(slot), sum((slot <= started)::int),
  sum(least(ended, slot + width) - greatest(started, slot)),
  sum(idle * (least(ended, slot + width) - started) / length - idle * (greatest(started, slot) - started) / length)
FROM (
  SELECT guild_id, game_id, started, ended, greatest(ended - started, 1) AS length,
    least(idle_seconds, ended - started) AS idle
  FROM activity.sessions
  CROSS JOIN LATERAL (SELECT floor(extract(epoch FROM started_at))::bigint AS started) AS start
  CROSS JOIN LATERAL (
    SELECT greatest(started, least(floor(extract(epoch FROM ended_at))::bigint, started + 604800)) AS ended
  ) AS finish
  WHERE ended_at IS NOT NULL
) AS session
CROSS JOIN (VALUES (900), (3600)) AS widths (width)
CROSS JOIN LATERAL generate_series(started - started % width, greatest(started, ended - 1), width) AS slot
GROUP BY guild_id, game_id, width, slot;

-- Actions that were logged before. An action cannot have occurred after it was logged.
WITH action AS (
  SELECT guild_id, actor_game_id AS game_id, action_type, least(occurred_at, created_at) AS at FROM activity.actions
), ranked AS (
  SELECT guild_id, game_id, action_type, date_bin('1 hour', at, 'epoch') AS hour,
    row_number() OVER (
      PARTITION BY guild_id, game_id, date_bin('1 hour', at, 'epoch') ORDER BY count(*) DESC, action_type
    ) AS rank
  FROM action GROUP BY guild_id, game_id, action_type, hour
)
INSERT INTO activity.action_totals (guild_id, game_id, width, slot, action_type, actions)
SELECT guild_id, game_id, width, date_bin(width * interval '1 second', at, 'epoch') AS slot,
  CASE WHEN rank <= 20 THEN action_type ELSE '' END AS type, count(*)
FROM action JOIN ranked USING (guild_id, game_id, action_type)
CROSS JOIN (VALUES (900), (3600)) AS widths (width)
WHERE hour = date_bin('1 hour', at, 'epoch')
GROUP BY guild_id, game_id, width, slot, type;

-- Every staff member with actions has a row in staff_totals, from which reports read who did something.
INSERT INTO activity.staff_totals (guild_id, game_id, width, slot)
SELECT DISTINCT guild_id, game_id, width, slot FROM activity.action_totals
ON CONFLICT (guild_id, game_id, width, slot) DO NOTHING;
