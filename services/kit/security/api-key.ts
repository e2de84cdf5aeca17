import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62, type RandomBytes, randomText } from './base62.ts';
import { hasKeyShape } from './redact.ts';

const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const SHOWN_LENGTH = 6;
const SHAPE = /^(service_([1-9][0-9]{16,19})_)([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

/** The parts of an API key that can be read without a lookup. */
export class ApiKey {
  readonly guildId: string;
  /** The part of the API key that may be shown to people: everything up to the sixth random character. */
  readonly prefix: string;
  /** The SHA-256 hash of the API key as a string with one character per byte, for use as a map key. */
  readonly hashText: string;

  constructor({ text, guildId, prefix }: { text: string; guildId: string; prefix: string }) {
    this.guildId = guildId;
    this.prefix = prefix;
    this.hashText = hash('sha256', text, 'latin1');
  }

  /** The SHA-256 hash of the whole API key. Only this hash is stored, never the key. */
  get hash(): Buffer {
    return Buffer.from(this.hashText, 'latin1');
  }
}

/** Creates an API key: `service_<guild_id>_<random>`, where `<random>` ends with a checksum of everything before it. */
export function makeApiKey(guildId: string, random: RandomBytes): string {
  const body = `service_${guildId}_${randomText(SECRET_LENGTH, random)}`;
  return body + checksum(body);
}

/** Parses an API key. Returns undefined if the key is malformed or its checksum is wrong, which saves a lookup. */
export function readApiKey(text: string): ApiKey | undefined {
  const [, head, guildId, secret, check] = SHAPE.exec(text) ?? [];
  if (!head || !guildId || !secret || check !== checksum(head + secret)) return undefined;
  return new ApiKey({ text, guildId, prefix: head + secret.slice(0, SHOWN_LENGTH) });
}

/**
 * True if a text contains an API key, or only the random part of an API key of this guild, which the checksum
 * identifies. Such a text must not be stored unencrypted.
 */
export function holdsApiKey(text: string, guildId: string): boolean {
  return hasKeyShape(text) || [...text.matchAll(RANDOM_PARTS)].some(([, part = '']) => isRandomPart(part, guildId));
}

/** Matches each run of 38 letters and digits, the length of an API key's random part; the matches overlap. */
const RANDOM_PARTS = /(?=([0-9A-Za-z]{38}))/g;

const isRandomPart = (part: string, guildId: string) => readApiKey(`service_${guildId}_${part}`) !== undefined;

function checksum(body: string): string {
  return base62(crc32(body), CHECKSUM_LENGTH);
}
