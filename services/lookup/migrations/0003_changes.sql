-- Finds the links that were removed since a time.
CREATE INDEX IF NOT EXISTS link_history_unlinked ON lookup.link_history (guild_id, created_at, chat_id) WHERE action = 'unlinked';
