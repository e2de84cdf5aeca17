import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeApiKey, readApiKey } from '#kit/security/api-key.ts';
import { redactKeys } from '#kit/security/redact.ts';
import { amount } from '#test/measure/bounds.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';

const PAGE = readFileSync(join(import.meta.dirname, 'key-format.md'), 'utf8');
const [, PATTERN = '', , SAMPLE = ''] = PAGE.split(/```\n?/).map((part) => part.trim());
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const GUILD = '900000000000000001';

const found = (text: string) => text.match(new RegExp(PATTERN, 'g')) ?? [];

/** CRC-32 computed bit by bit from its definition, independently of zlib. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text, 'ascii')) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** The checksum as key-format.md describes it. */
function checksum(text: string): string {
  let rest = crc32(text);
  let written = '';
  for (let place = 0; place < 6; place++) {
    written = DIGITS.charAt(rest % 62) + written;
    rest = Math.floor(rest / 62);
  }
  return written;
}

test('the published pattern finds every generated key, for guild IDs of all lengths', () => {
  const random = seededRandom(62);
  const made = Array.from({ length: amount(10_000, 1_000_000) }, () => {
    const digits = Array.from({ length: 16 + wholeNumber(random, 4) }, () => wholeNumber(random, 10)).join('');
    return makeApiKey(`${1 + wholeNumber(random, 9)}${digits}`, randomBytes);
  });
  expect(made.filter((key) => found(`KEY="${key}";`)[0] !== key)).toEqual([]);
  expect(made.filter((key) => checksum(key.slice(0, -6)) !== key.slice(-6))).toEqual([]);
});

const key = makeApiKey(GUILD, randomBytes);
test.each([`"${key}"`, `api_key=${key}&x=1`, `https://host/?k=${key}`, `X-API-Key: ${key}\n`, `(${key})`, `${key}.`])(
  'a key is found in %j',
  (text) => expect(found(text)).toEqual([key]),
);

test.each([
  ['another word before it', `my${key}`],
  ['capitals', key.replace('service', 'Service')],
  ['a guild ID that is too short', `service_9000000000000001_${'a'.repeat(38)}`],
  ['a guild ID that is too long', `service_900000000000000000001_${'a'.repeat(38)}`],
  ['a guild ID that begins with 0', `service_0${GUILD}_${'a'.repeat(38)}`],
  ['one character too few', key.slice(0, -1)],
  ['one character too many', `${key}0`],
  ['a character that is not allowed in keys', `${key.slice(0, -1)}-`],
  ['only its prefix', key.slice(0, -32)],
  ['the redacted form that logs contain', redactKeys(key)],
])('%s is not found', (_, text) => {
  expect(found(text)).toEqual([]);
});

test('a wrong checksum is detected, and the sample in key-format.md is correct', () => {
  const wrong = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
  expect(found(wrong)).toEqual([wrong]);
  expect(checksum(wrong.slice(0, -6))).not.toBe(wrong.slice(-6));
  expect(readApiKey(wrong)).toBeUndefined();
  expect(PAGE).toContain(`is ${crc32(SAMPLE)}, so its last six characters would be \`${checksum(SAMPLE)}\``);
  expect(readApiKey(SAMPLE + checksum(SAMPLE))).toMatchObject({ guildId: GUILD });
});
