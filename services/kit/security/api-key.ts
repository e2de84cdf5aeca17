import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62, type RandomBytes, randomText } from './base62.ts';
import { hasKeyShape } from './redact.ts';

const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const SHOWN_LENGTH = 6;
const SHAPE = /^(service_([1-9][0-9]{16,19})_)([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

/** What a key says of itself (contract, section 3). */
export class ApiKey {
  readonly guildId: string;
  /** What may be shown of it. */
  readonly prefix: string;
  /** `hash` as a short text, a byte a character, to find it by. */
  readonly hashText: string;

  constructor(text: string, guildId: string, prefix: string) {
    this.guildId = guildId;
    this.prefix = prefix;
    this.hashText = hash('sha256', text, 'latin1');
  }

  /** SHA-256 of the whole key: all that is ever stored of it. */
  get hash(): Buffer {
    return Buffer.from(this.hashText, 'latin1');
  }
}

/** A new key: `service_<guild_id>_<random>`, where `<random>` ends in a checksum of what stands before it. */
export function makeApiKey(guildId: string, random: RandomBytes): string {
  const body = `service_${guildId}_${randomText(SECRET_LENGTH, random)}`;
  return body + checksum(body);
}

/** The parts of a key; undefined when it is malformed or mistyped, which takes no look-up to tell. */
export function readApiKey(text: string): ApiKey | undefined {
  const [, head, guildId, secret, check] = SHAPE.exec(text) ?? [];
  if (!head || !guildId || !secret || check !== checksum(head + secret)) return undefined;
  return new ApiKey(text, guildId, head + secret.slice(0, SHOWN_LENGTH));
}

/**
 * Whether a text holds a key, or the random part of one of this guild alone. What is stored as it is given must not: the
 * checksum tells it from any other text.
 */
export function holdsApiKey(text: string, guildId: string): boolean {
  return hasKeyShape(text) || [...text.matchAll(RANDOM_PARTS)].some(([, part = '']) => isRandomPart(part, guildId));
}

/** Every place at which 38 letters and digits begin, overlapping ones too. */
const RANDOM_PARTS = /(?=([0-9A-Za-z]{38}))/g;

const isRandomPart = (part: string, guildId: string) => readApiKey(`service_${guildId}_${part}`) !== undefined;

function checksum(body: string): string {
  return base62(crc32(body), CHECKSUM_LENGTH);
}
