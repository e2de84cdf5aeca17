-- The record before the change that an event reports; for the audit (deploy/decisions/0021).
ALTER TABLE moderation.events ADD COLUMN before jsonb;
