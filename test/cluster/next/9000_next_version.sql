-- What a next version may do while the old one runs: add.
ALTER TABLE lookup.links ADD COLUMN next_version text;
