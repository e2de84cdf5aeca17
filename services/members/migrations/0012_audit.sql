-- The record before the change that an event reports; for the audit (deploy/decisions/0021).
ALTER TABLE members.events ADD COLUMN before jsonb;
