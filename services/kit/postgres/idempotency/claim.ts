import type { Queryable } from '../queryable.ts';

/** How long, in seconds, a claim rejects repeats of the write, unless it ends before. */
export const CLAIM_SECONDS = 60;

/** Identifies a write request that the client may repeat with the same Idempotency-Key. */
export interface IdempotentWrite {
  guildId: string;
  method: string;
  /** The path of the HTTP request, without its query. */
  path: string;
  /** The client's Idempotency-Key; if there is none, the response is not stored. */
  key: string | undefined;
  /** The SHA-256 hash of the request body. */
  bodyHash: Buffer;
  /** The HTTP status of a successful response, from the route table. */
  status: number;
  message: string;
}

/**
 * A claim on a write that changes data outside of this database. While the claim is held, repeats of the write with the
 * same Idempotency-Key are rejected. The claim is settled when the response is stored.
 */
export interface Claim {
  write: Omit<IdempotentWrite, 'bodyHash'>;
  /**
   * The ID of the claim, a UUID. If an earlier claim on the same write expired without a response, its ID is used
   * again.
   */
  id: string;
  /** When the claim expires, in ISO 8601. */
  until: string;
  /** True if an earlier request with the same Idempotency-Key may already have started the planned work. */
  isRepeat: boolean;
}

/** Locks a write until the transaction ends. Returns false if another transaction has locked it. */
export async function lockWrite(
  transaction: Queryable,
  table: string,
  { guildId, method, path, key }: Claim['write'],
): Promise<boolean> {
  const [lock] = await transaction.query<{ taken: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS taken',
    [[table, guildId, method, path, key].join('\n')],
  );
  return lock?.taken === true;
}
