-- Retention finds the members that left.
CREATE INDEX CONCURRENTLY IF NOT EXISTS mirror_members_left ON members.mirror_members (left_at) WHERE left_at IS NOT NULL;
