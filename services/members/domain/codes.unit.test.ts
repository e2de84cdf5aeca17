import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { CODE_ALPHABET, newCode, newToken, readCode } from './codes.ts';

test('a code has eight characters from an alphabet without similar characters', () => {
  for (const alike of ['0ODQ', '1ILl|', '2Z', '5S', '8B', '6G', 'UV']) {
    expect(Array.from(alike).filter((character) => CODE_ALPHABET.includes(character)).length).toBeLessThanOrEqual(1);
  }
  for (let made = 0; made < 1000; made++) {
    const code = newCode(randomBytes);
    expect(code).toMatch(new RegExp(`^[${CODE_ALPHABET}]{8}$`));
  }
});

test('tokens have 32 base62 characters and are unique', () => {
  const tokens = new Set(Array.from({ length: 1000 }, () => newToken(randomBytes)));
  expect(tokens.size).toBe(1000);
  for (const token of tokens) expect(token).toMatch(/^[0-9A-Za-z]{32}$/);
});

test.each(['h7km4prx', 'H7KM-4PRX', ' H7 KM 4P RX ', 'h7km–4prx', 'H7KM4PRX'])('%j reads as H7KM4PRX', (typed) => {
  expect(readCode(typed)).toBe('H7KM4PRX');
});
