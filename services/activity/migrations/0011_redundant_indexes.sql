-- The indexes of lists (0008_staff_lists.sql) begin with the same columns, so that erasure uses them. With two indexes that
-- serve a list equally well, PostgreSQL may choose the one that does not return its rows in order.
DROP INDEX activity.sessions_game;
DROP INDEX activity.actions_actor;
DROP INDEX activity.actions_target;
