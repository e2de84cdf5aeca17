-- Further conditions of a binding, each an object with the columns that its type uses. All of them must match as well.
-- authority is null if it was not chosen; member_template is null if the binding sets no nickname.
ALTER TABLE bindings.bindings
  ADD COLUMN conditions jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN authority text,
  ADD COLUMN member_template text;

-- The types verified and unverified use no column.
ALTER TABLE bindings.bindings ADD CONSTRAINT bindings_type_fields CHECK (CASE type
  WHEN 'group_rank' THEN num_nonnulls(game_group_id, min_rank, max_rank) = 3
    AND num_nonnulls(gamepass_id, asset_id, badge_id, account_age_platform, account_age_min_days) = 0
  WHEN 'account_age' THEN num_nonnulls(account_age_platform, account_age_min_days) = 2
    AND num_nonnulls(game_group_id, min_rank, max_rank, gamepass_id, asset_id, badge_id) = 0
  ELSE num_nonnulls(gamepass_id, asset_id, badge_id) = CASE WHEN type IN ('verified', 'unverified') THEN 0 ELSE 1 END
    AND num_nonnulls(game_group_id, min_rank, max_rank, account_age_platform, account_age_min_days) = 0
    AND CASE type WHEN 'gamepass' THEN gamepass_id WHEN 'asset' THEN asset_id WHEN 'badge' THEN badge_id
      WHEN 'verified' THEN 1 WHEN 'unverified' THEN 1 END IS NOT NULL
END) NOT VALID;
ALTER TABLE bindings.bindings DROP CONSTRAINT bindings_fields;
ALTER TABLE bindings.bindings ADD CONSTRAINT bindings_conditions
  CHECK (jsonb_typeof(conditions) = 'array' AND jsonb_array_length(conditions) <= 5) NOT VALID;
ALTER TABLE bindings.bindings ADD CONSTRAINT bindings_authority
  CHECK (authority IN ('grant', 'managed', 'own')) NOT VALID;
ALTER TABLE bindings.bindings ADD CONSTRAINT bindings_member_template
  CHECK (length(member_template) BETWEEN 1 AND 200) NOT VALID;
