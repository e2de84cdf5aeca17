import { expect, test } from 'vitest';
import { seededRandom, shuffled, wholeNumber } from '#test/random.ts';
import { type CursorScope, decodeCursor, encodeCursor, isCursorShaped } from './cursor.ts';

const SCOPE: CursorScope = { route: 'listLogs', guildId: '900000000000000001', filters: { action: 'ban', from: 5 } };

test('a cursor decodes to its position for the same list, with the filters in any order', () => {
  const random = seededRandom(3);
  for (let round = 0; round < 200; round++) {
    const filters = Array.from({ length: wholeNumber(random, 6) }, (_, index) => [`filter${index}`, random()] as const);
    const scope = { ...SCOPE, filters: Object.fromEntries(filters) };
    const position = `${wholeNumber(random, 2 ** 31)}:é"\\`;
    const again = { ...SCOPE, filters: { absent: undefined, ...Object.fromEntries(shuffled(random, filters)) } };
    expect(decodeCursor(again, encodeCursor(scope, position))).toBe(position);
  }
});

test('a cursor of another route, guild or filter is INVALID_REQUEST', () => {
  const cursor = encodeCursor(SCOPE, '17');
  const others: CursorScope[] = [
    { ...SCOPE, route: 'listBans' },
    { ...SCOPE, guildId: '900000000000000002' },
    { ...SCOPE, filters: { action: 'ban' } },
    { ...SCOPE, filters: { action: 'ban', from: '5' } },
    { ...SCOPE, filters: { action: 'ban', from: 5, to: 6 } },
  ];
  for (const other of others) {
    expect(() => decodeCursor(other, cursor)).toThrow(
      expect.objectContaining({
        code: 'INVALID_REQUEST',
        details: { errors: [{ path: 'query.cursor', message: expect.stringContaining('next_cursor') }] },
      }),
    );
  }
});

test('a cursor with any character changed, added or removed is INVALID_REQUEST', () => {
  const cursor = encodeCursor(SCOPE, '1790000000:17');
  for (let place = 0; place < cursor.length; place++) {
    const [before, after] = [cursor.slice(0, place), cursor.slice(place + 1)];
    for (const damaged of [
      before + after,
      `${before}${cursor[place] === 'A' ? 'B' : 'A'}${after}`,
      `${before}!${after}`,
    ]) {
      expect(() => decodeCursor(SCOPE, damaged)).toThrow('next_cursor');
    }
  }
  for (const damaged of ['', 'x', `${cursor}=`, `${cursor}\n`, Buffer.from('null').toString('base64url'), 'bnVsbA']) {
    expect(() => decodeCursor(SCOPE, damaged)).toThrow('next_cursor');
  }
});

test('a forged position is INVALID_REQUEST', () => {
  const [, mark] = JSON.parse(Buffer.from(encodeCursor(SCOPE, '17'), 'base64url').toString()) as string[];
  const forged = Buffer.from(JSON.stringify(['18', mark])).toString('base64url');
  expect(() => decodeCursor(SCOPE, forged)).toThrow('next_cursor');
});

test('the cursors of all lists have the form of a cursor, and other texts do not', () => {
  for (const position of ['', '7', '⚓ x']) expect(isCursorShaped(encodeCursor(SCOPE, position))).toBe(true);
  const others = ['{}', '[]', '["a"]', '["a",1]', '["a","b","c"]', 'null', '7'];
  const texts = ['', 'zzz', '%', ...others.map((text) => Buffer.from(text).toString('base64url'))];
  for (const text of texts) expect(isCursorShaped(text)).toBe(false);
});
