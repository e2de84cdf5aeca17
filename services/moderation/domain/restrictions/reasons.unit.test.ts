import { expect, test } from 'vitest';
import { displayReason, importedReason, privateReason, readMark } from './reasons.ts';

const MARK = { guildId: '900000000000000001', banId: 12, writeId: '0a1b2c3d-0000-4000-8000-000000000000' };

test('the private reason names the write, also behind the longest reason', () => {
  for (const reason of ['', 'Cheats', '🚫'.repeat(400), 'x'.repeat(2_000)]) {
    const text = privateReason(reason, MARK);
    expect(Array.from(text).length).toBeLessThanOrEqual(1_000);
    expect(readMark(text)).toEqual({ ...MARK, writeId: '0a1b2c3d' });
  }
});

test.each([
  '',
  'Cheats',
  '[guild-data 900000000000000001 12]',
  '[guild-data 900000000000000001 12 0a1b2c3d] and more',
  '[guild-data 1 12 0a1b2c3d]',
])('the reason %j has no mark', (reason) => {
  expect(readMark(reason)).toBeUndefined();
});

test('players see the reason unless the platform would reject its link', () => {
  expect(displayReason('Cheats')).toBe('Cheats');
  expect(displayReason('x'.repeat(500))).toHaveLength(400);
  for (const link of ['See https://rules.example', 'www.rules.example', 'Appeal at discord.gg/abc']) {
    expect(displayReason(link)).toBe('Banned from this game.');
  }
});

test('an imported ban has the private reason, otherwise the one that the player sees', () => {
  expect(importedReason({ privateReason: 'Case 7', displayReason: 'Cheats' })).toBe('Case 7');
  expect(importedReason({ privateReason: '', displayReason: 'Cheats' })).toBe('Cheats');
  expect(importedReason({ privateReason: '', displayReason: '' })).toBe('Banned on the game platform');
  expect(importedReason({ privateReason: privateReason('Spam', MARK), displayReason: '' })).toBe('Spam');
});
