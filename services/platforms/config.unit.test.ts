import { expect, test } from 'vitest';
import { readConfig } from '#kit/service/config.ts';
import { chatPlatformConfig, gamePlatformConfig } from './config.ts';

const read = (environment: Record<string, string>) =>
  readConfig({ ...gamePlatformConfig, ...chatPlatformConfig }, environment);

test('by default the URLs are those of the real platforms, and there is no Open Cloud key', () => {
  const config = read({ CHAT_BOT_TOKEN: 'token' });
  expect(config.GAME_API_KEY).toBeUndefined();
  const urls = Object.entries(config).filter(([name]) => /^GAME_.*_URL$/.test(name));
  expect(urls).toHaveLength(6);
  for (const [, url] of urls) expect(url).toMatch(/^https:\/\/[a-z]+\.roblox\.com$/);
  expect(config.CHAT_API_URL).toBe('https://discord.com/api/v10');
});

test('an invalid URL and a key with characters not allowed in a header are reported without their values', () => {
  const faulty = () => read({ GAME_APIS_URL: 'ftp://game', GAME_API_KEY: 'two words', CHAT_BOT_TOKEN: 'line\nline' });
  expect(faulty).toThrow(/3 error\(s\)/);
  expect(faulty).toThrow(/GAME_API_KEY must be printable ASCII without spaces/);
  expect(faulty).not.toThrow(/two words|ftp/);
  expect(() => read({})).toThrow(/CHAT_BOT_TOKEN is required/);
});
