-- How many attempts to send events to the webhook were stored. After each thousandth one, those beyond the newest 10,000 are
-- deleted.
ALTER TABLE events.endpoints ADD COLUMN attempt_count bigint NOT NULL DEFAULT 0;
