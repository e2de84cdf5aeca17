import { z } from 'zod';
import type { Queryable } from '#kit/postgres/pool.ts';
import { selectChangesAfter } from '../store/keys.ts';
import type { KeyChange } from './key.ts';

/** PostgreSQL refuses payloads of 8000 bytes. */
const MAX_PAYLOAD_BYTES = 7_999;
/** How far back changes are read again: longer than any transaction that made one may have taken. */
export const RECENT_MS = 15_000;
const PAGE = 1_000;

const changePayload = z
  .tuple([z.string(), z.number(), z.number(), z.number(), z.array(z.string())])
  .transform(([guildId, number, version, changedAt, hashes]) => ({
    guildId,
    number,
    version,
    changedAt: new Date(changedAt),
    hashes: hashes.map((hash) => Buffer.from(hash, 'base64')),
  }));

/** A change as the payload of a notification; empty when it is too long for one. */
export function encodeChange({ guildId, number, version, changedAt, hashes }: KeyChange): string {
  const shown = hashes.map((hash) => hash.toString('base64'));
  const payload = JSON.stringify([guildId, number, version, changedAt.getTime(), shown]);
  return Buffer.byteLength(payload) <= MAX_PAYLOAD_BYTES ? payload : '';
}

/** The change in a payload; undefined when it holds none that can be read, so that the changes must be read again. */
export function decodeChange(payload: string): KeyChange | undefined {
  try {
    return changePayload.parse(JSON.parse(payload));
  } catch {
    return undefined;
  }
}

/**
 * The changes of the last 15 s by their time: a transaction that commits after later ones is not overlooked.
 * A page at a time.
 */
export async function* recentChanges(database: Queryable, now: number): AsyncGenerator<KeyChange[], void> {
  let after = { changedAt: new Date(now - RECENT_MS), guildId: '', number: 0 };
  for (let size = PAGE; size === PAGE; ) {
    const page = await selectChangesAfter(database, after, PAGE);
    size = page.length;
    after = page.at(-1) ?? after;
    yield page;
  }
}
