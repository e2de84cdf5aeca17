const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** `size` random bytes; passed in so that tests decide them. */
export type RandomBytes = (size: number) => Buffer;

/** Text of `length` characters of an alphabet, each equally likely; bytes that would favour some are thrown away. */
export function randomText(length: number, random: RandomBytes, alphabet = ALPHABET): string {
  const fair = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random(2 * length)) {
      if (byte < fair && text.length < length) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}

/** A whole number as base62, padded to `length` characters. */
export function base62(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / ALPHABET.length)) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
  }
  return text;
}
