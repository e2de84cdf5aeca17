-- Two bindings of a guild must differ in role, type, target, range or conditions.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS bindings_distinct ON bindings.bindings (guild_id, chat_role_id, type,
  game_group_id, min_rank, max_rank, gamepass_id, asset_id, badge_id, account_age_platform, account_age_min_days,
  conditions) NULLS NOT DISTINCT;
