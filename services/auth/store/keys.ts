import type { ApiError } from '#kit/errors.ts';
import { byGuildOrError, guildOf, guildStatement } from '#kit/postgres/citus/by-guild.ts';
import { longRunning, prepared, type Queryable } from '#kit/postgres/pool.ts';
import type { Grant, KeyChange, KeyPosition, KeyRecord, KeyRef, KeySettings } from '../domain/key.ts';

/** The PostgreSQL channel of the notifications of API key changes. */
export const CHANGES_CHANNEL = 'auth_keys';

/** Locks the guild and returns its next API key number. Inserts the row of a guild without keys. */
export async function takeNumber(transaction: Queryable, guildId: string): Promise<number> {
  const [row] = await transaction.query<{ number: number }>(
    `INSERT INTO auth.guilds AS g (guild_id, next_number) VALUES ($1, 2)
     ON CONFLICT (guild_id) DO UPDATE SET next_number = g.next_number + 1
     RETURNING next_number - 1 AS number`,
    [guildId],
  );
  if (!row) throw new Error('no number was returned');
  return row.number;
}

/** Locks the guild against other changes of its API keys until the transaction ends. */
export async function lockGuild(transaction: Queryable, guildId: string): Promise<void> {
  await transaction.query('SELECT 1 FROM auth.guilds WHERE guild_id = $1 FOR UPDATE', [guildId]);
}

/** Returns the number of API keys of a guild that are neither revoked nor expired. */
export async function countActive(transaction: Queryable, guildId: string, now: Date): Promise<number> {
  const [row] = await transaction.query<{ count: number }>(
    `SELECT count(*) AS count FROM auth.keys
     WHERE guild_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
    [guildId, now],
  );
  return row?.count ?? 0;
}

/** Returns the number of rotated secrets of an API key that still work. */
export async function countRotated(transaction: Queryable, key: KeyRef, now: Date): Promise<number> {
  const [row] = await transaction.query<{ count: number }>(
    'SELECT count(*) AS count FROM auth.key_secrets WHERE guild_id = $1 AND number = $2 AND valid_until > $3',
    [key.guildId, key.number, now],
  );
  return row?.count ?? 0;
}

/** Stores a new API key with version 1. */
export async function insertKey(transaction: Queryable, key: KeyRef, settings: KeySettings, now: Date): Promise<void> {
  await transaction.query(
    `INSERT INTO auth.keys
       (guild_id, number, name, scopes, ip_allowlist, rate_limit, expires_at, created_at, changed_at, version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, 1)`,
    [key.guildId, key.number, ...settingValues(settings), now],
  );
}

export async function updateSettings(
  transaction: Queryable,
  key: KeyRef,
  settings: KeySettings,
  now: Date,
): Promise<void> {
  await transaction.query(
    `UPDATE auth.keys SET name = $3, scopes = $4, ip_allowlist = $5, rate_limit = $6, expires_at = $7,
       changed_at = $8, version = version + 1
     WHERE guild_id = $1 AND number = $2`,
    [key.guildId, key.number, ...settingValues(settings), now],
  );
}

function settingValues({ name, scopes, ipAllowlist, rateLimit, expiresAt }: KeySettings): unknown[] {
  return [name, scopes, ipAllowlist, rateLimit, expiresAt];
}

/** Stores a new secret as the current secret of an API key. */
export async function insertSecret(
  transaction: Queryable,
  key: KeyRef,
  secret: { hash: Buffer; prefix: string },
): Promise<void> {
  await transaction.query(
    'INSERT INTO auth.key_secrets (guild_id, number, hash, prefix, valid_until) VALUES ($1, $2, $3, $4, null)',
    [key.guildId, key.number, secret.hash, secret.prefix],
  );
}

/** Turns the current secret of an API key into a rotated secret, which works until `until`. */
export async function retireSecret(transaction: Queryable, key: KeyRef, until: Date, now: Date): Promise<void> {
  await transaction.query(
    `WITH changed AS (
       UPDATE auth.keys SET changed_at = $4, version = version + 1 WHERE guild_id = $1 AND number = $2)
     UPDATE auth.key_secrets SET valid_until = $3 WHERE guild_id = $1 AND number = $2 AND valid_until IS NULL`,
    [key.guildId, key.number, until, now],
  );
}

/** Deletes the rotated secrets of an API key that stopped working before `before`. */
export async function deleteRetiredSecrets(transaction: Queryable, key: KeyRef, before: Date): Promise<void> {
  await transaction.query('DELETE FROM auth.key_secrets WHERE guild_id = $1 AND number = $2 AND valid_until < $3', [
    key.guildId,
    key.number,
    before,
  ]);
}

/** Revokes one API key of a guild, or all if `number` is null. Returns the numbers of the newly revoked keys. */
export async function revokeKeys(
  transaction: Queryable,
  guildId: string,
  number: number | null,
  now: Date,
): Promise<number[]> {
  // Locks the rows of the API keys in the same order as recordUse does, because another order can cause deadlocks.
  const rows = await transaction.query<{ number: number }>(
    `WITH locked AS (
       SELECT number FROM auth.keys
       WHERE guild_id = $1 AND number = coalesce($2, number) AND revoked_at IS NULL
       ORDER BY number FOR NO KEY UPDATE)
     UPDATE auth.keys k SET revoked_at = $3, changed_at = $3, version = version + 1
     FROM locked WHERE k.guild_id = $1 AND k.number = locked.number
     RETURNING k.number`,
    [guildId, number, now],
  );
  return rows.map((row) => row.number);
}

/** The columns of a KeyRecord of API key `k`; needs `withSecrets`. */
export const KEY = `k.guild_id AS "guildId", k.number, k.name, k.scopes, k.ip_allowlist AS "ipAllowlist",
  k.rate_limit AS "rateLimit", k.created_at AS "createdAt", k.expires_at AS "expiresAt",
  k.revoked_at AS "revokedAt", k.last_used_at AS "lastUsedAt", s.prefix,
  CASE WHEN k.revoked_at IS NULL THEN s.rotated_until END AS "rotatedUntil"`;

/**
 * SQL: the current prefix of API key `k`, and when its last rotated secret stops working; `$1` is the current time. A statement
 * for one guild passes `andGuild`, so that Citus executes it on one node.
 */
export const withSecrets = (andGuild = '') => `CROSS JOIN LATERAL (
  SELECT max(prefix) FILTER (WHERE valid_until IS NULL) AS prefix,
    max(valid_until) FILTER (WHERE valid_until > $1) AS rotated_until
  FROM auth.key_secrets WHERE guild_id = k.guild_id AND number = k.number ${andGuild}) s`;

/** Returns the API keys of a guild that have the numbers `numbers`. */
export function selectKeys(
  database: Queryable,
  guildId: string,
  now: Date,
  numbers: readonly number[],
): Promise<KeyRecord[]> {
  return database.query<KeyRecord>(
    `SELECT ${KEY} FROM auth.keys k ${withSecrets('AND guild_id = $2')}
     WHERE k.guild_id = $2 AND k.number = ANY($3::integer[]) ORDER BY k.number DESC`,
    [now, guildId, numbers],
  );
}

/** Returns a page of a guild's API keys after the key `after`: unrevoked keys first, the newest first. */
export function selectKeyPage(
  database: Queryable,
  guildId: string,
  now: Date,
  after: KeyPosition | undefined,
  limit: number,
): Promise<KeyRecord[]> {
  return database.query<KeyRecord>(
    `SELECT ${KEY} FROM auth.keys k ${withSecrets('AND guild_id = $2')}
     WHERE k.guild_id = $2 AND (k.revoked_at IS NOT NULL, -k.number) > ($3, $4)
     ORDER BY k.revoked_at IS NOT NULL, -k.number LIMIT $5`,
    [now, guildId, after?.isRevoked ?? false, after ? -after.number : -MAX_NUMBER, limit],
  );
}

/** A number that is greater than the number of any API key. */
const MAX_NUMBER = 2_000_000_000;

/** Selects active API keys that expire before a time and were not used since a time; null stands for any time. */
export interface KeyFilter {
  expiresBefore: Date | null;
  unusedSince: Date | null;
}

/**
 * Returns a page of the active API keys of one guild, or of all guilds if `guildId` is null, ordered by guild and
 * number, starting after the key `after`.
 */
export function selectFilteredKeys(
  database: Queryable,
  { guildId, expiresBefore, unusedSince }: KeyFilter & { guildId: string | null },
  now: Date,
  after: KeyRef | undefined,
  limit: number,
): Promise<KeyRecord[]> {
  return database.query<KeyRecord>(
    longRunning(`SELECT ${KEY} FROM auth.keys k ${withSecrets()}
     WHERE (k.guild_id, k.number) > ($2, $3) AND ($4::text IS NULL OR k.guild_id = $4)
       AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $1)
       AND ($5::timestamptz IS NULL OR k.expires_at < $5)
       AND ($6::timestamptz IS NULL OR (k.created_at < $6 AND (k.last_used_at IS NULL OR k.last_used_at < $6)))
     ORDER BY k.guild_id, k.number LIMIT $7`),
    [now, after?.guildId ?? '', after?.number ?? 0, guildId, expiresBefore, unusedSince, limit],
  );
}

/** Returns whether all API keys of a guild are revoked, and the time of their last change; null without keys. */
export async function selectKeyStates(
  database: Queryable,
  guildId: string,
): Promise<{ areRevoked: boolean; changedAt: Date | null }> {
  const [row] = await database.query<{ areRevoked: boolean; changedAt: Date | null }>(
    `SELECT coalesce(bool_and(revoked_at IS NOT NULL), true) AS "areRevoked", max(changed_at) AS "changedAt"
     FROM auth.keys WHERE guild_id = $1`,
    [guildId],
  );
  return row ?? { areRevoked: true, changedAt: null };
}

/**
 * The columns of a KeyChange of API key `k`. A secret that stopped working a minute before the change is left out: a
 * gateway that has missed its end has also missed heartbeats since, and trusts none of its cached keys.
 */
const changeOf = (andGuild = '') => `k.guild_id AS "guildId", k.number, k.version, k.changed_at AS "changedAt",
  ARRAY(SELECT s.hash FROM auth.key_secrets s WHERE s.guild_id = k.guild_id AND s.number = k.number ${andGuild}
    AND (s.valid_until IS NULL OR s.valid_until > k.changed_at - interval '1 minute')) AS hashes`;

/** Returns the API keys of a guild that have the numbers `numbers`, in the form that is sent to gateways. */
export function selectChanges(
  transaction: Queryable,
  guildId: string,
  numbers: readonly number[],
): Promise<KeyChange[]> {
  return transaction.query<KeyChange>(
    `SELECT ${changeOf('AND s.guild_id = $1')} FROM auth.keys k WHERE k.guild_id = $1 AND k.number = ANY($2::integer[])`,
    [guildId, numbers],
  );
}

/** The position of the last key change of a page. */
export type ChangePosition = KeyRef & Pick<KeyChange, 'changedAt'>;

/** Returns a page of API keys in the order of their last change, starting after a position. */
export function selectChangesAfter(database: Queryable, after: ChangePosition, limit: number): Promise<KeyChange[]> {
  return database.query<KeyChange>(
    `SELECT ${changeOf()} FROM auth.keys k
     WHERE (k.changed_at, k.guild_id, k.number) > ($1, $2, $3)
     ORDER BY k.changed_at, k.guild_id, k.number LIMIT $4`,
    [after.changedAt, after.guildId, after.number, limit],
  );
}

/** Notifies the listeners of CHANGES_CHANNEL of key changes when the transaction commits. */
export async function notifyChanges(transaction: Queryable, payloads: readonly string[]): Promise<void> {
  await transaction.query('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [
    CHANGES_CHANNEL,
    payloads,
  ]);
}

/**
 * Finds API keys by the hashes of their secrets. The LATERAL join makes the planner look up each hash in the indexes;
 * otherwise it would scan small tables.
 */
const VERIFY_HASHES = guildStatement(
  3,
  (andGuild) => `SELECT found.*
   FROM unnest((SELECT $1::text[]), (SELECT $2::bytea[])) WITH ORDINALITY AS requested (guild_id, hash, position)
   LEFT JOIN LATERAL (
     SELECT k.guild_id AS "guildId", k.number, k.scopes, k.ip_allowlist AS "ipAllowlist",
       k.rate_limit AS "rateLimit", k.expires_at AS "expiresAt", k.version, s.prefix, s.valid_until AS "validUntil"
     FROM auth.key_secrets s
     JOIN auth.keys k ON k.guild_id = s.guild_id AND k.number = s.number
     JOIN auth.guilds g ON g.guild_id = k.guild_id
     WHERE s.guild_id = requested.guild_id AND s.hash = requested.hash AND (s.valid_until IS NULL OR s.valid_until > $3)
       AND k.revoked_at IS NULL AND g.suspended_at IS NULL
       ${andGuild('s')} ${andGuild('k')} ${andGuild('g')}
     LIMIT 1
   ) AS found ON true
   ORDER BY requested.position`,
  prepared,
);

/**
 * Returns the grant for each pair of guild and hash, in the same order; null if the secret is unknown, revoked or past
 * its grace period. With Citus an error if the guild could not be read.
 */
export async function verifyHashes(
  database: Queryable,
  guildIds: readonly string[],
  hashes: readonly Buffer[],
  now: Date,
): Promise<(Grant | null | ApiError)[]> {
  const requested = guildIds.map((guildId, index) => ({ guildId, hash: hashes[index] }));
  return byGuildOrError(database, requested, guildOf, async (part, run) => {
    const values = [part.map(guildOf), part.map(({ hash }) => hash), now];
    const rows = await run<Grant | { number: null }>(VERIFY_HASHES, values);
    return rows.map((row) => (row.number === null ? null : row));
  });
}
