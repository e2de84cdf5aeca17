-- With Citus a trigger runs on a shard, whose row type is not that of the table, and may only use rows of one guild at a
-- time. The functions therefore get the columns that they need, of one guild. What they compute is the same as before.
CREATE FUNCTION activity.count_guild_sessions(
  guild text, games bigint[], starts timestamptz[], ends timestamptz[], idles bigint[], sign integer
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  changed record;
BEGIN
  FOR changed IN
    SELECT session.game_id, total.day, array_agg(total.key) AS keys, array_agg(total.value * sign) AS changes
    FROM unnest(games, starts, ends, idles) AS session (game_id, started_at, ended_at, idle_seconds)
    CROSS JOIN LATERAL activity.session_totals(session.started_at, session.ended_at, session.idle_seconds) AS total
    WHERE sign = 1 OR EXISTS (
      SELECT FROM activity.staff_days AS days
      WHERE days.guild_id = guild AND days.game_id = session.game_id
        AND days.day BETWEEN (session.started_at AT TIME ZONE 'UTC')::date
          AND (greatest(session.started_at, session.ended_at) AT TIME ZONE 'UTC')::date
    )
    GROUP BY 1, 2 ORDER BY 1, 2
  LOOP
    IF sign = 1 THEN
      INSERT INTO activity.staff_days AS days (guild_id, game_id, day, session_totals)
      VALUES (guild, changed.game_id, changed.day, activity.add_totals('\x', changed.keys, changed.changes))
      ON CONFLICT (guild_id, game_id, day)
        DO UPDATE SET session_totals = activity.add_totals(days.session_totals, changed.keys, changed.changes);
    ELSE
      UPDATE activity.staff_days SET session_totals = activity.add_totals(session_totals, changed.keys, changed.changes)
      WHERE guild_id = guild AND game_id = changed.game_id AND day = changed.day;
      DELETE FROM activity.staff_days WHERE guild_id = guild AND game_id = changed.game_id AND day = changed.day
        AND session_totals = '\x' AND action_totals = '\x';
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION activity.count_guild_actions(
  guild text, games bigint[], types text[], times timestamptz[], sign integer
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  changed record;
  first_types text[];
BEGIN
  FOR changed IN
    SELECT game_id, (occurred_at AT TIME ZONE 'UTC')::date AS day, array_agg(action_type) AS types,
      array_agg((floor(extract(epoch FROM occurred_at) / 900)::bigint % 96)::integer) AS quarters,
      array_agg(sign::bigint) AS changes
    FROM unnest(games, types, times) AS action (game_id, action_type, occurred_at) GROUP BY 1, 2 ORDER BY 1, 2
  LOOP
    IF sign = 1 THEN
      first_types := activity.add_action_types('{}', changed.types);
      INSERT INTO activity.staff_days AS days (guild_id, game_id, day, action_types, action_totals)
      VALUES (guild, changed.game_id, changed.day, first_types,
        activity.add_totals('\x', activity.action_keys(first_types, changed.types, changed.quarters), changed.changes))
      ON CONFLICT (guild_id, game_id, day) DO UPDATE
        SET action_types = activity.add_action_types(days.action_types, changed.types),
          action_totals = activity.add_totals(days.action_totals, activity.action_keys(
            activity.add_action_types(days.action_types, changed.types), changed.types, changed.quarters),
            changed.changes);
    ELSE
      UPDATE activity.staff_days SET action_totals = activity.add_totals(action_totals,
        activity.action_keys(action_types, changed.types, changed.quarters), changed.changes)
      WHERE guild_id = guild AND game_id = changed.game_id AND day = changed.day;
      DELETE FROM activity.staff_days WHERE guild_id = guild AND game_id = changed.game_id AND day = changed.day
        AND session_totals = '\x' AND action_totals = '\x';
    END IF;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION activity.sessions_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NOT EXISTS (
      SELECT * FROM removed WHERE ended_at IS NOT NULL EXCEPT SELECT * FROM added WHERE ended_at IS NOT NULL
    ) AND NOT EXISTS (
      SELECT * FROM added WHERE ended_at IS NOT NULL EXCEPT SELECT * FROM removed WHERE ended_at IS NOT NULL
    ) THEN
      RETURN NULL;
    END IF;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    PERFORM activity.count_guild_sessions(
      guild_id, array_agg(game_id), array_agg(started_at), array_agg(ended_at), array_agg(idle_seconds), -1)
    FROM removed WHERE ended_at IS NOT NULL GROUP BY guild_id ORDER BY guild_id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM activity.count_guild_sessions(
      guild_id, array_agg(game_id), array_agg(started_at), array_agg(ended_at), array_agg(idle_seconds), 1)
    FROM added WHERE ended_at IS NOT NULL GROUP BY guild_id ORDER BY guild_id;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION activity.actions_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM activity.count_guild_actions(
      guild_id, array_agg(actor_game_id), array_agg(action_type), array_agg(occurred_at), -1)
    FROM removed GROUP BY guild_id ORDER BY guild_id;
  ELSE
    PERFORM activity.count_guild_actions(
      guild_id, array_agg(actor_game_id), array_agg(action_type), array_agg(occurred_at), 1)
    FROM added GROUP BY guild_id ORDER BY guild_id;
  END IF;
  RETURN NULL;
END $$;

DROP FUNCTION activity.count_sessions(activity.sessions[], integer);
DROP FUNCTION activity.count_actions(activity.actions[], integer);
DROP FUNCTION activity.delete_empty_day(activity.staff_days);
