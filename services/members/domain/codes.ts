import { type RandomBytes, randomText } from '#kit/security/base62.ts';

/** 190 bits. */
const TOKEN_LENGTH = 32;

/**
 * Without characters that are mistaken for one another: of 0 O Q D only D is here, of 1 I L none, of 2 Z, 5 S, 8 B,
 * 6 G and V U the first alone. 25 characters, so that a code has 37 bits: enough against the few guesses that the
 * limits let through within its half hour.
 */
export const CODE_ALPHABET = '23456789ACDEFHJKMNPRTVWXY';
const CODE_LENGTH = 8;

/** What a link carries. */
export function newToken(random: RandomBytes): string {
  return randomText(TOKEN_LENGTH, random);
}

/** What a person types. */
export function newCode(random: RandomBytes): string {
  return randomText(CODE_LENGTH, random, CODE_ALPHABET);
}

/** A code as it was typed, in the form in which it was made. */
export function readCode(typed: string): string {
  return typed.replace(/[\s\p{Pd}]/gu, '').toUpperCase();
}
