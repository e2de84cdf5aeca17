-- The record before the change that an event reports; for the audit (deploy/decisions/0021).
ALTER TABLE lookup.events ADD COLUMN before jsonb;
