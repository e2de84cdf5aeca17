-- For lists of the commands in one state, newest first.
CREATE INDEX commands_state ON activity.commands (guild_id, (
  CASE WHEN cancelled_at IS NOT NULL THEN 'cancelled' WHEN reported_at IS NOT NULL THEN 'finished' ELSE 'open' END
), created_at, place);
