-- Audit entries about a whole guild, such as its erasure, have no key.
ALTER TABLE auth.audit ALTER COLUMN number DROP NOT NULL;
