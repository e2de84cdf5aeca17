import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { makeApiKey, readApiKey } from './api-key.ts';
import { base62, randomText } from './base62.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const GUILD = '900000000000000001';
const seeded = (random: () => number) => (size: number) =>
  Buffer.from(Array.from({ length: size }, () => wholeNumber(random, 256)));

test('a key contains its guild ID, its prefix shows six characters of its secret, and it is stored as SHA-256', () => {
  const key = makeApiKey(GUILD, randomBytes);
  expect(key).toMatch(/^service_900000000000000001_[0-9A-Za-z]{38}$/);
  const read = readApiKey(key);
  expect(read).toMatchObject({ guildId: GUILD, prefix: key.slice(0, `service_${GUILD}_`.length + 6) });
  expect(read?.hash).toEqual(createHash('sha256').update(key).digest());
  expect(read?.hashText).toBe(read?.hash.toString('latin1'));
});

function* mistyped(key: string): Generator<string> {
  for (let place = 0; place < key.length; place++) {
    const [before, after] = [key.slice(0, place), key.slice(place + 1)];
    for (const wrong of `${ALPHABET}_`) yield before + wrong + after;
    yield before + after;
    yield before + (after[0] ?? '') + (key[place] ?? '') + after.slice(1);
  }
}

test('one wrong, missing or swapped character is always detected without a lookup', () => {
  const random = seededRandom(11);
  for (let round = 0; round < 10; round++) {
    const key = makeApiKey(GUILD, seeded(random));
    const taken = [...mistyped(key)].filter((text) => readApiKey(text));
    expect(new Set(taken)).toEqual(new Set([key]));
  }
});

test.each(['', 'service_', `service_${GUILD}_short`, ` KEY`, `KEY `, `KEY\n`, `Bearer KEY`, 'KEYKEY'])(
  'a text that is not exactly a key is rejected: %j',
  (shape) => {
    const key = makeApiKey(GUILD, randomBytes);
    expect(readApiKey(shape.replaceAll('KEY', key))).toBeUndefined();
  },
);

test('every character of random text is equally likely: bytes that would favour some are discarded', () => {
  const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const text = randomText(248, (size) => (size >= 256 ? every : randomBytes(size)));
  const counts = Array.from(ALPHABET, (character) => text.split(character).length - 1);
  expect(counts).toEqual(Array(62).fill(4));
});

test('random text reads more bytes when some were discarded', () => {
  const sources = [Buffer.alloc(8, 255), Buffer.from([250, 0, 61, 249, 62, 123])];
  expect(randomText(4, () => sources.shift() as Buffer)).toBe('0z0z');
});

test('base62 maps different numbers to different texts of the same length', () => {
  expect([0, 61, 62, 2 ** 32 - 1].map((value) => base62(value, 6))).toEqual(['000000', '00000z', '000010', '4gfFC3']);
});
