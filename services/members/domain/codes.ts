import { type RandomBytes, randomText } from '#kit/security/base62.ts';

/** 32 characters of base62 have 190 bits. */
const TOKEN_LENGTH = 32;

/**
 * Letters and digits that people do not confuse. Of the similar characters 0 O Q D only D is included, of 1 I L none,
 * and of 2 Z, 5 S, 8 B, 6 G and V U the first one. With 25 characters a code has 37 bits, which is enough because codes
 * expire soon and rate limits allow few guesses.
 */
export const CODE_ALPHABET = '23456789ACDEFHJKMNPRTVWXY';
const CODE_LENGTH = 8;

/** A token for use in a URL. */
export function newToken(random: RandomBytes): string {
  return randomText(TOKEN_LENGTH, random);
}

/** A short code for people to type. */
export function newCode(random: RandomBytes): string {
  return randomText(CODE_LENGTH, random, CODE_ALPHABET);
}

/** Normalizes a typed code: without spaces and dashes, in capital letters. */
export function readCode(typed: string): string {
  return typed.replace(/[\s\p{Pd}]/gu, '').toUpperCase();
}
