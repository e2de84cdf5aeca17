import { prepared, type Queryable } from '#kit/postgres/pool.ts';
import type { DisabledReason } from '#proto/rest/webhooks/schemas.ts';
import type { Endpoint, EndpointSecrets } from '../domain/endpoint.ts';

const COLUMNS = `guild_id AS "guildId", id, key_id AS "keyId", scopes, url, types, format, description, enabled,
  disabled_reason AS "disabledReason", cursor_seq AS "cursorSeq", failing_since AS "failingSince", parked,
  created_at AS "createdAt"`;

export type NewEndpoint = Pick<
  Endpoint,
  'guildId' | 'keyId' | 'scopes' | 'url' | 'types' | 'format' | 'description' | 'cursorSeq'
> & { secret: Buffer; secretKey: string };

/**
 * Inserts an endpoint that receives the events after its cursor up to `newestSeq`. Returns undefined if the guild has
 * `max` endpoints already; the caller must have locked the guild's log.
 */
export async function insertEndpoint(
  transaction: Queryable,
  endpoint: NewEndpoint,
  { newestSeq, max }: { newestSeq: number; max: number },
): Promise<Endpoint | undefined> {
  const { guildId, keyId, scopes, url, types, format, description, secret, secretKey, cursorSeq } = endpoint;
  const [inserted] = await transaction.query<Endpoint>(
    `INSERT INTO events.endpoints
       (guild_id, key_id, scopes, url, types, format, description, secret, secret_key, cursor_seq, wanted_seq)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::bigint, $11::bigint
     WHERE $12 > (SELECT count(*) FROM events.endpoints WHERE guild_id = $1)
     RETURNING ${COLUMNS}`,
    [guildId, keyId, scopes, url, types, format, description, secret, secretKey, cursorSeq, newestSeq, max],
  );
  return inserted;
}

/** Returns the number of endpoints of a guild. */
export async function countGuildEndpoints(on: Queryable, guildId: string): Promise<number> {
  const [row] = await on.query<{ endpoints: number }>(
    'SELECT count(*)::int AS endpoints FROM events.endpoints WHERE guild_id = $1',
    [guildId],
  );
  return row?.endpoints ?? 0;
}

/** Returns all endpoints of a guild, the oldest first. */
export function listEndpoints(on: Queryable, guildId: string): Promise<Endpoint[]> {
  return on.query(`SELECT ${COLUMNS} FROM events.endpoints WHERE guild_id = $1 ORDER BY created_at, id LIMIT 1000`, [
    guildId,
  ]);
}

/** Returns an endpoint; undefined if the guild has none with this ID. */
export async function findEndpoint(on: Queryable, guildId: string, id: string): Promise<Endpoint | undefined> {
  const [found] = await on.query<Endpoint>(
    `SELECT ${COLUMNS} FROM events.endpoints WHERE guild_id = $1 AND id = $2::uuid`,
    [guildId, id],
  );
  return found;
}

/** Returns an endpoint, and locks it until the transaction ends. */
export async function lockEndpoint(transaction: Queryable, guildId: string, id: string): Promise<Endpoint | undefined> {
  const [found] = await transaction.query<Endpoint>(
    `SELECT ${COLUMNS} FROM events.endpoints WHERE guild_id = $1 AND id = $2::uuid FOR UPDATE`,
    [guildId, id],
  );
  return found;
}

/** Returns the encrypted secrets that sign deliveries of an endpoint now. */
export async function findSecrets(on: Queryable, guildId: string, id: string): Promise<EndpointSecrets | undefined> {
  const [found] = await on.query<EndpointSecrets>(
    `SELECT secret, CASE WHEN previous_until > clock_timestamp() THEN previous_secret END AS "previousSecret"
     FROM events.endpoints WHERE guild_id = $1 AND id = $2::uuid`,
    [guildId, id],
  );
  return found;
}

export type EndpointSettings = Pick<Endpoint, 'url' | 'types' | 'description' | 'keyId' | 'scopes'>;

/** Writes the settings of an endpoint. All events up to `newestSeq` are examined again for its types. */
export async function updateSettings(
  transaction: Queryable,
  { guildId, id }: Pick<Endpoint, 'guildId' | 'id'>,
  { url, types, description, keyId, scopes }: EndpointSettings,
  newestSeq: number,
): Promise<Endpoint | undefined> {
  const [updated] = await transaction.query<Endpoint>(
    `UPDATE events.endpoints SET url = $3, types = $4, description = $5, key_id = $6, scopes = $7,
       wanted_seq = GREATEST(wanted_seq, $8::bigint), lease = NULL, leased_until = NULL
     WHERE guild_id = $1 AND id = $2::uuid RETURNING ${COLUMNS}`,
    [guildId, id, url, types, description, keyId, scopes, newestSeq],
  );
  return updated;
}

/**
 * Disables an endpoint and ends its lease. Returns undefined if it was disabled before, does not exist, or has another
 * URL than the one passed.
 */
export async function disableEndpoint(
  transaction: Queryable,
  { guildId, id, url }: Pick<Endpoint, 'guildId' | 'id'> & { url?: string },
  reason: DisabledReason,
): Promise<Endpoint | undefined> {
  const [disabled] = await transaction.query<Endpoint>(
    `UPDATE events.endpoints SET enabled = false, disabled_reason = $3, lease = NULL, leased_until = NULL
     WHERE guild_id = $1 AND id = $2::uuid AND enabled AND ($4::text IS NULL OR url = $4) RETURNING ${COLUMNS}`,
    [guildId, id, reason, url ?? null],
  );
  return disabled;
}

/** Locks an endpoint, and returns true if it has been failing for `seconds`. */
export async function lockFailing(
  transaction: Queryable,
  { guildId, id }: Pick<Endpoint, 'guildId' | 'id'>,
  seconds: number,
): Promise<boolean> {
  const found = await transaction.query(
    `SELECT FROM events.endpoints WHERE guild_id = $1 AND id = $2::uuid
       AND failing_since <= clock_timestamp() - $3::float8 * interval '1 second' FOR UPDATE`,
    [guildId, id, seconds],
  );
  return found.length > 0;
}

/** Enables an endpoint, which then receives all events after its cursor. Its failures before no longer count. */
export async function enableEndpoint(
  transaction: Queryable,
  { guildId, id }: Pick<Endpoint, 'guildId' | 'id'>,
  newestSeq: number,
): Promise<Endpoint | undefined> {
  const [enabled] = await transaction.query<Endpoint>(
    `UPDATE events.endpoints SET enabled = true, disabled_reason = NULL, failing_since = NULL, is_slow = false,
       wanted_seq = GREATEST(wanted_seq, $3::bigint)
     WHERE guild_id = $1 AND id = $2::uuid RETURNING ${COLUMNS}`,
    [guildId, id, newestSeq],
  );
  return enabled;
}

/**
 * Moves the cursor of an endpoint so that `from` is the next seq that it receives, and ends its lease. Parked events
 * from there on are removed, because they are sent again anyway. The caller must have locked the endpoint.
 */
export async function moveCursor(
  transaction: Queryable,
  { guildId, id }: Pick<Endpoint, 'guildId' | 'id'>,
  { from, newestSeq }: { from: number; newestSeq: number },
): Promise<Endpoint | undefined> {
  const [moved] = await transaction.query<Endpoint>(
    `WITH removed AS (
       DELETE FROM events.parked WHERE guild_id = $1 AND endpoint_id = $2::uuid AND seq >= $3::bigint RETURNING 1
     )
     UPDATE events.endpoints SET cursor_seq = $3::bigint - 1, wanted_seq = $4::bigint, lease = NULL,
       leased_until = NULL, parked = parked - (SELECT count(*) FROM removed)::int
     WHERE guild_id = $1 AND id = $2::uuid RETURNING ${COLUMNS}`,
    [guildId, id, from, newestSeq],
  );
  return moved;
}

export async function deleteEndpoint(on: Queryable, guildId: string, id: string): Promise<void> {
  await on.query('DELETE FROM events.endpoints WHERE guild_id = $1 AND id = $2::uuid', [guildId, id]);
}

/**
 * Replaces the secret of an endpoint. The replaced one signs too for `graceSeconds`; returns until when, by the
 * database's clock.
 */
export async function rotateSecret(
  on: Queryable,
  { guildId, id }: Pick<Endpoint, 'guildId' | 'id'>,
  secret: Buffer,
  graceSeconds: number,
): Promise<Date | undefined> {
  const [rotated] = await on.query<{ until: Date }>(
    `UPDATE events.endpoints SET secret = $3, previous_secret = secret,
       previous_until = clock_timestamp() + $4::float8 * interval '1 second'
     WHERE guild_id = $1 AND id = $2::uuid RETURNING previous_until AS until`,
    [guildId, id, secret, graceSeconds],
  );
  return rotated?.until;
}

const MARK_DUE = prepared(`UPDATE events.endpoints AS e SET wanted_seq = appended.newest_seq
  FROM jsonb_to_recordset($1::jsonb) AS appended (guild_id text, newest_seq bigint, patterns text[])
  WHERE e.guild_id = ANY ($2::text[]) AND e.guild_id = appended.guild_id AND e.enabled
    AND e.types && appended.patterns AND e.wanted_seq < appended.newest_seq`);

/** The types of new events of a guild, and the seq of the newest. */
export interface NewEvents {
  guildId: string;
  newestSeq: number;
  types: ReadonlySet<string>;
}

/**
 * Makes those endpoints due that receive one of the types. Called in the transaction that stores the events, under the
 * locks of the logs of the guilds.
 */
export async function markEndpointsDue(on: Queryable, appended: readonly NewEvents[]): Promise<void> {
  const rows = appended.map(({ guildId, newestSeq, types }) => {
    const patterns = [...types].flatMap((type) => [type, `${type.slice(0, type.indexOf('.'))}.*`]);
    return { guild_id: guildId, newest_seq: newestSeq, patterns: [...new Set(['*', ...patterns])] };
  });
  await on.query(MARK_DUE, [JSON.stringify(rows), appended.map(({ guildId }) => guildId)]);
}

/** Disables the endpoints of revoked keys and returns them. Called under the lock of the guild's log. */
export function disableEndpointsOfKeys(on: Queryable, guildId: string, keyIds: readonly string[]): Promise<Endpoint[]> {
  return on.query(
    `UPDATE events.endpoints
     SET enabled = false, disabled_reason = 'key_revoked', lease = NULL, leased_until = NULL
     WHERE guild_id = $1 AND key_id = ANY ($2::text[]) AND enabled RETURNING ${COLUMNS}`,
    [guildId, keyIds],
  );
}

/**
 * Gives the endpoints of a key its present scopes. Turns that read with other ones end. Called under the lock of the
 * guild's log.
 */
export async function setScopesOfKey(
  on: Queryable,
  guildId: string,
  { keyId, scopes }: Pick<Endpoint, 'keyId' | 'scopes'>,
): Promise<void> {
  await on.query(
    `UPDATE events.endpoints SET scopes = $3::text[], lease = NULL, leased_until = NULL
     WHERE guild_id = $1 AND key_id = $2 AND scopes IS DISTINCT FROM $3::text[]`,
    [guildId, keyId, scopes],
  );
}
