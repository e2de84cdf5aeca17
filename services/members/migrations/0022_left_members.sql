-- When a member left. The row stays for some minutes, so that a response of the platform from before does not bring the
-- member back. It has no epoch and no other facts, so the previous release does not use it either.
ALTER TABLE members.mirror_members ADD COLUMN left_at timestamptz;
