import { GuildData } from '@guild-data/client';

export const guild = new GuildData({
  baseUrl: process.env['GUILD_DATA_URL'] ?? 'http://127.0.0.1:8080',
  key: process.env['GUILD_DATA_KEY'] ?? 'service_900000000000000001_...',
  guildId: '900000000000000001',
});
