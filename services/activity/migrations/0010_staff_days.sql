-- What each staff member did in each quarter of an hour of a day (UTC), for the report of staff activity. The offsets
-- of all time zones are multiples of a quarter of an hour, so that the totals for a day in any time zone can be
-- computed. Triggers update the rows, so that they stay correct whoever changes sessions or actions: the previous
-- release, erasure or retention.
CREATE TABLE activity.staff_days (
  guild_id text COLLATE "C" NOT NULL,
  game_id bigint NOT NULL,
  day date NOT NULL,
  -- Totals of ended sessions. Each total has six bytes: two for its key (kind * 96 + quarter of the day), and four for
  -- its value. The kinds are 0 for started sessions, 1 for seconds, 2 for idle seconds. Totals of 0 are omitted.
  session_totals bytea NOT NULL DEFAULT '',
  -- The types of actions on this day, at most 32, in the order in which they were first logged.
  action_types text[] NOT NULL DEFAULT '{}',
  -- Totals of actions, in the same format. The kind of an action type is 3 plus its position in action_types, which
  -- starts at 1; kind 3 counts all types that did not fit into action_types.
  action_totals bytea NOT NULL DEFAULT '',
  CONSTRAINT staff_days_id PRIMARY KEY (guild_id, game_id, day)
) WITH (fillfactor = 70);

-- Adds changes to totals. A key may occur several times among the changes. A total that would become negative becomes
-- 0: the days of a staff member may have been erased before the sessions and actions.
CREATE FUNCTION activity.add_totals(totals bytea, keys integer[], changes bigint[]) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  at integer;
  value integer;
BEGIN
  -- A single change, such as that of an action, does not need to read all totals.
  IF cardinality(keys) = 1 AND changes[1] > 0 THEN
    at := position(int2send(keys[1]::smallint) IN totals);
    IF at = 0 THEN
      RETURN totals || int2send(keys[1]::smallint) || int4send(changes[1]::integer);
    ELSIF at % 6 = 1 THEN
      value := (get_byte(totals, at + 1) << 24) | (get_byte(totals, at + 2) << 16) | (get_byte(totals, at + 3) << 8)
        | get_byte(totals, at + 4);
      RETURN overlay(totals PLACING int4send(value + changes[1]::integer) FROM at + 2);
    END IF;
  END IF;
  RETURN (
    SELECT coalesce(string_agg(int2send(key::smallint) || int4send(total::integer), '\x'::bytea ORDER BY key), '\x')
    FROM (
      SELECT key, sum(change) AS total FROM (
        SELECT (get_byte(totals, pos) << 8) + get_byte(totals, pos + 1) AS key,
          ((get_byte(totals, pos + 2) << 24) | (get_byte(totals, pos + 3) << 16) | (get_byte(totals, pos + 4) << 8)
            | get_byte(totals, pos + 5))::bigint AS change
        FROM generate_series(0, octet_length(totals) - 6, 6) AS pos
        UNION ALL SELECT * FROM unnest(keys, changes)
      ) AS both_totals GROUP BY key HAVING sum(change) > 0
    ) AS summed
  );
END $$;

-- Returns the totals of an ended session. Its idle seconds are spread evenly over the session.
CREATE FUNCTION activity.session_totals(started timestamptz, ended timestamptz, idle bigint)
RETURNS TABLE (day date, key integer, value bigint) LANGUAGE sql IMMUTABLE AS $$
  SELECT date '1970-01-01' + (quarter / 96)::integer, kind * 96 + (quarter % 96)::integer, total
  FROM (
    SELECT first, last - first AS length, least(idle, last - first) AS idle, quarter,
      greatest(first, quarter * 900) - first AS since, least(last, quarter * 900 + 900) - first AS until
    FROM (
      SELECT floor(extract(epoch FROM started))::bigint AS first,
        floor(extract(epoch FROM greatest(started, ended)))::bigint AS last OFFSET 0
    ) AS seconds
    CROSS JOIN LATERAL generate_series(first / 900, greatest(first, last - 1) / 900) AS quarter
    -- Without OFFSET 0 the planner would compute these columns again for each use.
    OFFSET 0
  ) AS part
  CROSS JOIN LATERAL (VALUES
    (0, (quarter = first / 900)::integer::bigint),
    (1, until - since),
    (2, CASE WHEN length = 0 THEN 0 ELSE idle * until / length - idle * since / length END)
  ) AS totals (kind, total)
  WHERE total <> 0
$$;

-- Adds types to the types of a day, up to the maximum. Types are never removed from a day, so that an action is counted
-- under the same key when it is logged and when it is deleted.
CREATE FUNCTION activity.add_action_types(types text[], added text[]) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN types @> added THEN types ELSE (
    types || ARRAY(SELECT DISTINCT type FROM unnest(added) AS type WHERE type <> ALL (types) ORDER BY type)
  )[1:greatest(32, cardinality(types))] END
$$;

-- Returns the keys under which actions are counted on a day with these types.
CREATE FUNCTION activity.action_keys(types text[], actions text[], quarters integer[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg((3 + coalesce(array_position(types, type), 0)) * 96 + quarter) FROM unnest(actions, quarters) AS action (type, quarter)
$$;

-- Deletes the row of a day if it has no totals.
CREATE FUNCTION activity.delete_empty_day(changed activity.staff_days) RETURNS void LANGUAGE sql AS $$
  DELETE FROM activity.staff_days
  WHERE guild_id = changed.guild_id AND game_id = changed.game_id AND day = changed.day
    AND session_totals = '\x' AND action_totals = '\x'
$$;

-- Adds sessions to the totals (sign 1), or subtracts them (-1). Days are locked in the order of their key, so that
-- concurrent transactions cannot deadlock. Nothing is computed for sessions whose days have been erased, so that many long
-- sessions can be erased with one statement.
CREATE FUNCTION activity.count_sessions(sessions activity.sessions[], sign integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  changed record;
  saved activity.staff_days;
BEGIN
  FOR changed IN
    SELECT session.guild_id, session.game_id, total.day, array_agg(total.key) AS keys,
      array_agg(total.value * sign) AS changes
    FROM unnest(sessions) AS session
    CROSS JOIN LATERAL activity.session_totals(session.started_at, session.ended_at, session.idle_seconds) AS total
    WHERE sign = 1 OR EXISTS (
      SELECT FROM activity.staff_days AS days
      WHERE days.guild_id = session.guild_id AND days.game_id = session.game_id
        AND days.day BETWEEN (session.started_at AT TIME ZONE 'UTC')::date
          AND (greatest(session.started_at, session.ended_at) AT TIME ZONE 'UTC')::date
    )
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  LOOP
    IF sign = 1 THEN
      INSERT INTO activity.staff_days AS days (guild_id, game_id, day, session_totals)
      VALUES (changed.guild_id, changed.game_id, changed.day, activity.add_totals('\x', changed.keys, changed.changes))
      ON CONFLICT ON CONSTRAINT staff_days_id
        DO UPDATE SET session_totals = activity.add_totals(days.session_totals, changed.keys, changed.changes);
    ELSE
      UPDATE activity.staff_days SET session_totals = activity.add_totals(session_totals, changed.keys, changed.changes)
      WHERE guild_id = changed.guild_id AND game_id = changed.game_id AND day = changed.day RETURNING * INTO saved;
      PERFORM activity.delete_empty_day(saved);
    END IF;
  END LOOP;
END $$;

-- Adds actions to the totals (sign 1), or subtracts them (-1), in the same way as count_sessions.
CREATE FUNCTION activity.count_actions(actions activity.actions[], sign integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  changed record;
  saved activity.staff_days;
BEGIN
  FOR changed IN
    SELECT guild_id, actor_game_id AS game_id, (occurred_at AT TIME ZONE 'UTC')::date AS day,
      array_agg(action_type) AS types,
      array_agg((floor(extract(epoch FROM occurred_at) / 900)::bigint % 96)::integer) AS quarters,
      array_agg(sign::bigint) AS changes
    FROM unnest(actions) AS action GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  LOOP
    IF sign = 1 THEN
      INSERT INTO activity.staff_days AS days (guild_id, game_id, day, action_types, action_totals)
      SELECT changed.guild_id, changed.game_id, changed.day, types,
        activity.add_totals('\x', activity.action_keys(types, changed.types, changed.quarters), changed.changes)
      FROM (SELECT activity.add_action_types('{}', changed.types) AS types) AS first
      ON CONFLICT ON CONSTRAINT staff_days_id DO UPDATE SET (action_types, action_totals) = (
        SELECT types, activity.add_totals(days.action_totals,
          activity.action_keys(types, changed.types, changed.quarters), changed.changes)
        FROM (SELECT activity.add_action_types(days.action_types, changed.types) AS types) AS known
      );
    ELSE
      UPDATE activity.staff_days SET action_totals = activity.add_totals(action_totals,
        activity.action_keys(action_types, changed.types, changed.quarters), changed.changes)
      WHERE guild_id = changed.guild_id AND game_id = changed.game_id AND day = changed.day RETURNING * INTO saved;
      PERFORM activity.delete_empty_day(saved);
    END IF;
  END LOOP;
END $$;

-- Counts only ended sessions, so that a heartbeat of an open session changes no total, and neither does an update that leaves
-- an ended session as it was, such as that of a repeated request to end it.
CREATE FUNCTION activity.sessions_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NOT EXISTS (
      SELECT removed::activity.sessions FROM removed WHERE ended_at IS NOT NULL
      EXCEPT SELECT added::activity.sessions FROM added WHERE ended_at IS NOT NULL
    ) AND NOT EXISTS (
      SELECT added::activity.sessions FROM added WHERE ended_at IS NOT NULL
      EXCEPT SELECT removed::activity.sessions FROM removed WHERE ended_at IS NOT NULL
    ) THEN
      RETURN NULL;
    END IF;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    IF EXISTS (SELECT FROM removed WHERE ended_at IS NOT NULL) THEN
      PERFORM activity.count_sessions(
        ARRAY(SELECT removed::activity.sessions FROM removed WHERE ended_at IS NOT NULL), -1);
    END IF;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    IF EXISTS (SELECT FROM added WHERE ended_at IS NOT NULL) THEN
      PERFORM activity.count_sessions(ARRAY(SELECT added::activity.sessions FROM added WHERE ended_at IS NOT NULL), 1);
    END IF;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION activity.actions_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM activity.count_actions(ARRAY(SELECT removed::activity.actions FROM removed), -1);
  ELSE
    PERFORM activity.count_actions(ARRAY(SELECT added::activity.actions FROM added), 1);
  END IF;
  RETURN NULL;
END $$;

-- Blocks writes to sessions and actions until the existing rows are counted and the triggers exist.
LOCK TABLE activity.sessions, activity.actions IN SHARE ROW EXCLUSIVE MODE;

INSERT INTO activity.staff_days (guild_id, game_id, day, session_totals)
SELECT guild_id, game_id, day, activity.add_totals('\x', array_agg(key), array_agg(value))
FROM activity.sessions
CROSS JOIN LATERAL activity.session_totals(started_at, ended_at, idle_seconds) AS total
WHERE ended_at IS NOT NULL GROUP BY 1, 2, 3;

INSERT INTO activity.staff_days AS days (guild_id, game_id, day, action_types, action_totals)
SELECT guild_id, game_id, day, types,
  activity.add_totals('\x', activity.action_keys(types, actions, quarters), changes)
FROM (
  SELECT guild_id, actor_game_id AS game_id, (occurred_at AT TIME ZONE 'UTC')::date AS day,
    array_agg(action_type) AS actions,
    array_agg((floor(extract(epoch FROM occurred_at) / 900)::bigint % 96)::integer) AS quarters,
    array_agg(1::bigint) AS changes
  FROM activity.actions GROUP BY 1, 2, 3
) AS counted
CROSS JOIN LATERAL activity.add_action_types('{}', actions) AS types
ON CONFLICT ON CONSTRAINT staff_days_id
  DO UPDATE SET (action_types, action_totals) = (excluded.action_types, excluded.action_totals);

CREATE TRIGGER sessions_added AFTER INSERT ON activity.sessions REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION activity.sessions_changed();
CREATE TRIGGER sessions_updated AFTER UPDATE ON activity.sessions REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION activity.sessions_changed();
CREATE TRIGGER sessions_removed AFTER DELETE ON activity.sessions REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION activity.sessions_changed();
-- There is no trigger for updates, because no update of an action changes a counted column.
CREATE TRIGGER actions_added AFTER INSERT ON activity.actions REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION activity.actions_changed();
CREATE TRIGGER actions_removed AFTER DELETE ON activity.actions REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION activity.actions_changed();
