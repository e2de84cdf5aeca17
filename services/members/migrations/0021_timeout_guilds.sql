-- Finds the guilds whose mutes are mirrored to timeouts.
CREATE INDEX CONCURRENTLY IF NOT EXISTS guild_settings_timeouts ON members.guild_settings (guild_id)
  WHERE mirror_timeouts;
