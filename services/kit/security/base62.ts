const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns `size` random bytes. Functions receive it as a parameter, so that tests can choose the bytes. */
export type RandomBytes = (size: number) => Buffer;

/**
 * Returns a random text of `length` characters, all equally likely: random bytes that would favour some characters are
 * discarded.
 */
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

/** Formats a whole number in base 62, padded with zeros to `length` characters. */
export function base62(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / ALPHABET.length)) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
  }
  return text;
}
