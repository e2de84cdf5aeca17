-- What concerns a whole guild, such as its erasure, names no key.
ALTER TABLE auth.audit ALTER COLUMN number DROP NOT NULL;
