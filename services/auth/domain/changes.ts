import { z } from 'zod';
import type { Queryable } from '#kit/postgres/pool.ts';
import { selectChangesAfter } from '../store/keys.ts';
import type { KeyChange } from './key.ts';

/** The maximum size of a notification payload: PostgreSQL rejects payloads of 8000 bytes and more. */
const MAX_PAYLOAD_BYTES = 7_999;
/**
 * The age, in milliseconds, up to which key changes are read again. It is longer than any transaction that changes keys
 * can take.
 */
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

/**
 * Returns the PostgreSQL notification payload of a key change; an empty text if the change does not fit into a payload.
 */
export function encodeChange({ guildId, number, version, changedAt, hashes }: KeyChange): string {
  const encodedHashes = hashes.map((hash) => hash.toString('base64'));
  const payload = JSON.stringify([guildId, number, version, changedAt.getTime(), encodedHashes]);
  return Buffer.byteLength(payload) <= MAX_PAYLOAD_BYTES ? payload : '';
}

/**
 * Returns the key change in a notification payload; undefined if the payload contains no valid change, so that the
 * caller must read the recent changes again.
 */
export function decodeChange(payload: string): KeyChange | undefined {
  try {
    return changePayload.parse(JSON.parse(payload));
  } catch {
    return undefined;
  }
}

/**
 * Yields pages of the key changes of the last RECENT_MS. Changes are selected by time and not by version or order of
 * commit, so that the change of a transaction that commits late is included.
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
