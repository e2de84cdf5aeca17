-- For erasing a user.
CREATE INDEX log_moderator_chat ON moderation.log (guild_id, moderator_chat_id) WHERE moderator_chat_id IS NOT NULL;
