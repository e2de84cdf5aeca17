-- For erasing a user.
CREATE INDEX punishments_game ON moderation.punishments (guild_id, game_id);
CREATE INDEX punishments_moderator_game ON moderation.punishments (guild_id, moderator_game_id)
  WHERE moderator_game_id IS NOT NULL;
CREATE INDEX punishments_moderator_chat ON moderation.punishments (guild_id, moderator_chat_id)
  WHERE moderator_chat_id IS NOT NULL;
CREATE INDEX log_moderator_chat ON moderation.log (guild_id, moderator_chat_id) WHERE moderator_chat_id IS NOT NULL;
