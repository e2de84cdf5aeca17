import { type RandomBytes, randomText } from '#kit/security/base62.ts';

/** The number of characters of a verification token. 32 characters of base62 have 190 bits. */
const TOKEN_LENGTH = 32;

/**
 * The letters and digits of verification codes, without those that people confuse. Of the similar characters 0 O Q D
 * only D is included, of 1 I L none, and of 2 Z, 5 S, 8 B, 6 G and V U the first one. With 25 different characters a
 * code has 37 bits, which is enough because codes expire soon and rate limits allow few guesses.
 */
export const CODE_ALPHABET = '23456789ACDEFHJKMNPRTVWXY';
const CODE_LENGTH = 8;

/** Creates a random verification token for use in a URL. */
export function newToken(random: RandomBytes): string {
  return randomText(TOKEN_LENGTH, random);
}

/** Creates a random verification code, short enough to be typed. */
export function newCode(random: RandomBytes): string {
  return randomText(CODE_LENGTH, random, CODE_ALPHABET);
}

/** Normalizes a typed verification code: removes spaces and dashes, and converts letters to capitals. */
export function readCode(typed: string): string {
  return typed.replace(/[\s\p{Pd}]/gu, '').toUpperCase();
}
