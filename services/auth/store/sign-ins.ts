import type { Queryable } from '#kit/postgres/pool.ts';

/** The maximum number of sign-ins that one network may have begun; a further one replaces the oldest. */
const MAX_PENDING_PER_NETWORK = 20;

/** Identifies a sign-in that has begun: the hashes of what its provider and its browser return. */
export interface StoredSignIn {
  provider: string;
  stateHash: Buffer;
  browserHash: Buffer;
}

export interface PendingSignIn extends StoredSignIn {
  returnTo: string;
  /** The network of the browser, as `networkOf` names it: an IPv4 address, or an IPv6 /64. */
  network: string;
  expiresAt: Date;
}

/** Stores a sign-in that has begun, and deletes the oldest ones of the network beyond the limit. */
export async function insertSignIn(transaction: Queryable, signIn: PendingSignIn): Promise<void> {
  const { provider, stateHash, browserHash, returnTo, network, expiresAt } = signIn;
  // Sign-ins of one network are counted one after another.
  await transaction.query(`SELECT pg_advisory_xact_lock(hashtextextended('auth.sign_ins ' || $1, 0))`, [network]);
  await transaction.query(
    `INSERT INTO auth.sign_ins (state_hash, browser_hash, provider, return_to, network, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [stateHash, browserHash, provider, returnTo, network, expiresAt],
  );
  await transaction.query(
    `DELETE FROM auth.sign_ins WHERE state_hash IN (
       SELECT state_hash FROM auth.sign_ins WHERE network = $1
       ORDER BY expires_at DESC, state_hash OFFSET ${MAX_PENDING_PER_NETWORK})`,
    [network],
  );
}

/** Deletes a sign-in that has not expired and returns it, so that it works once; undefined if there is none. */
export async function deleteSignIn(
  database: Queryable,
  { stateHash, browserHash, provider }: StoredSignIn,
  now: Date,
): Promise<{ returnTo: string } | undefined> {
  const [deleted] = await database.query<{ returnTo: string }>(
    `DELETE FROM auth.sign_ins
     WHERE state_hash = $1 AND browser_hash = $2 AND provider = $3 AND expires_at > $4
     RETURNING return_to AS "returnTo"`,
    [stateHash, browserHash, provider, now],
  );
  return deleted;
}
