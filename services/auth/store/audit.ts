import { longRunning, type Queryable } from '#kit/postgres/pool.ts';

/** The guild ID of audit entries that concern the installation and not a guild. */
export const INSTALLATION = '';

export interface AuditRow {
  sequence: number;
  at: Date;
  /** The name of the operator who made the change. */
  actor: string;
  action: string;
  service: string;
  /** The full path of the gRPC method that the operator called. */
  method: string;
  /** The number of the API key that the entry concerns; null if it concerns no key. */
  number: number | null;
  /** The details of the change; null after they were erased. */
  details: Record<string, unknown> | null;
}

export type NewEntry = Omit<AuditRow, 'sequence' | 'number'>;

/**
 * Appends an audit entry for each of the key numbers; null stands for an entry that concerns no API key. A database
 * trigger assigns the sequence number and the chain value.
 */
export async function appendEntries(
  transaction: Queryable,
  guildId: string,
  numbers: readonly (number | null)[],
  entry: NewEntry,
): Promise<void> {
  await transaction.query(
    `INSERT INTO auth.audit (guild_id, number, at, actor, action, service, method, details, persons)
     SELECT $1, number, $3, $4, $5, $6, $7, $8, $9::text[] FROM unnest($2::integer[]) AS number`,
    [
      guildId,
      numbers,
      entry.at,
      entry.actor,
      entry.action,
      entry.service,
      entry.method,
      JSON.stringify(entry.details ?? {}),
      actingPerson(entry.details),
    ],
  );
}

/** Returns the mark of the person in the console who made a change, with which an erasure finds the entry. */
function actingPerson(details: NewEntry['details']): string[] | null {
  const { id } = (details?.['person'] ?? {}) as { id?: unknown };
  return typeof id === 'string' && /^[0-9]{1,20}$/.test(id) ? [`chat:${id}`] : null;
}

/** Returns a page of a guild's audit entries since a time and before a sequence number, the newest first. */
export function selectEntries(
  database: Queryable,
  guildId: string,
  { since, before, limit }: { since: Date; before: number; limit: number },
): Promise<AuditRow[]> {
  return database.query<AuditRow>(
    `SELECT sequence, at, actor, action, service, method, number, details FROM auth.audit
     WHERE guild_id = $1 AND sequence < $2 AND at >= $3 ORDER BY sequence DESC LIMIT $4`,
    [guildId, before, since, limit],
  );
}

/** The position of an audit entry, and the chain value up to this entry. */
export interface ChainPosition {
  sequence: number;
  chain: Buffer;
}

/**
 * The last entry of a guild's audit chain (the audit entries, each of which is hashed together with the previous one).
 */
export interface Head extends ChainPosition {
  guildId: string;
}

/**
 * Returns the position and hash of the last entry of a guild's audit chain; undefined if the chain never had any
 * entries.
 */
export async function selectHead(database: Queryable, guildId: string): Promise<Head | undefined> {
  const [head] = await database.query<Head>(
    `SELECT guild_id AS "guildId", sequence, chain FROM auth.audit_heads WHERE guild_id = $1`,
    [guildId],
  );
  return head;
}

/**
 * Returns a page of the ends of all audit chains, ordered by guild, starting after the guild `after` or from the
 * beginning.
 */
export function selectHeads(database: Queryable, after: string | undefined, limit: number): Promise<Head[]> {
  return database.query<Head>(
    `SELECT guild_id AS "guildId", sequence, chain FROM auth.audit_heads
     WHERE guild_id ${after === undefined ? '>=' : '>'} $1 ORDER BY guild_id LIMIT $2`,
    [after ?? '', limit],
  );
}

/** An audit entry with the texts that its hashes were computed from. */
export interface LinkRow {
  sequence: number;
  salt: Buffer | null;
  /** The details of the audit entry as text; null after they were erased. */
  text: string | null;
  digest: Buffer;
  /** The text that is hashed together with the chain value of the previous audit entry. */
  link: string;
  chain: Buffer;
}

/**
 * Returns the audit entries of a guild after a sequence number, in order. The SQL expression of `link` is the same as
 * in auth.audit_link (migration 0003).
 */
export function selectLinks(database: Queryable, guildId: string, after: number, limit: number): Promise<LinkRow[]> {
  return database.query<LinkRow>(
    `SELECT sequence, salt, details::text AS text, digest, chain,
       jsonb_build_array(guild_id, sequence, (extract(epoch FROM at) * 1000000)::bigint, actor, action, number, service,
         method, encode(digest, 'hex'))::text AS link
     FROM auth.audit WHERE guild_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
    [guildId, after, limit],
  );
}

export interface Checkpoint extends Head {
  /** The ID of the key that made the signature. */
  keyId: string;
  createdAt: Date;
  signature: Buffer;
}

const CHECKPOINT = `guild_id AS "guildId", sequence, key_id AS "keyId", chain, created_at AS "createdAt", signature`;

/** Returns the audit checkpoints of a guild after one sequence number and up to another, in order. */
export function selectCheckpoints(
  database: Queryable,
  guildId: string,
  { after, to }: { after: number; to: number },
): Promise<Checkpoint[]> {
  return database.query<Checkpoint>(
    `SELECT ${CHECKPOINT} FROM auth.audit_checkpoints
     WHERE guild_id = $1 AND sequence > $2 AND sequence <= $3 ORDER BY sequence`,
    [guildId, after, to],
  );
}

/** Returns the checkpoints of the last entry of a guild that has one: one for each key that has signed it. */
export function selectNewestCheckpoints(database: Queryable, guildId: string): Promise<Checkpoint[]> {
  return database.query<Checkpoint>(
    `SELECT ${CHECKPOINT} FROM auth.audit_checkpoints
     WHERE guild_id = $1 AND sequence = (SELECT max(sequence) FROM auth.audit_checkpoints WHERE guild_id = $1)`,
    [guildId],
  );
}

/** Returns the checkpoints of a guild whose entries have no checkpoint under the key `keyId`, in order. */
export function selectCheckpointsWithout(database: Queryable, guildId: string, keyId: string): Promise<Checkpoint[]> {
  return database.query<Checkpoint>(
    `SELECT ${CHECKPOINT} FROM auth.audit_checkpoints AS earlier
     WHERE guild_id = $1 AND NOT EXISTS (
       SELECT FROM auth.audit_checkpoints AS signed
       WHERE signed.guild_id = $1 AND signed.sequence = earlier.sequence AND signed.key_id = $2)
     ORDER BY sequence`,
    [guildId, keyId],
  );
}

/** Inserts an audit checkpoint. Returns false if another replica has already inserted the same checkpoint. */
export async function insertCheckpoint(database: Queryable, checkpoint: Checkpoint): Promise<boolean> {
  const { guildId, sequence, keyId, chain, createdAt, signature } = checkpoint;
  const inserted = await database.query(
    `INSERT INTO auth.audit_checkpoints (guild_id, sequence, key_id, chain, created_at, signature)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (guild_id, sequence, key_id) DO NOTHING RETURNING 1`,
    [guildId, sequence, keyId, chain, createdAt, signature],
  );
  return inserted.length > 0;
}

/**
 * Returns a page of the ends of audit chains whose last entry has no checkpoint under the key `keyId`, ordered by guild
 * and starting after the guild `after`.
 */
export function selectUnsignedHeads(
  database: Queryable,
  keyId: string,
  after: string | undefined,
  limit: number,
): Promise<Head[]> {
  return database.query<Head>(
    `SELECT guild_id AS "guildId", sequence, chain FROM auth.audit_heads AS heads
     WHERE guild_id ${after === undefined ? '>=' : '>'} $1 AND NOT EXISTS (
       SELECT FROM auth.audit_checkpoints AS signed
       WHERE signed.guild_id = heads.guild_id AND signed.sequence = heads.sequence AND signed.key_id = $3)
     ORDER BY guild_id LIMIT $2`,
    [after ?? '', limit, keyId],
  );
}

/**
 * Deletes the audit entries up to a checkpoint, and the checkpoints before it. Returns the number of deleted entries,
 * which is 0 if one of them is younger than 30 days.
 */
export async function pruneTo(database: Queryable, guildId: string, sequence: number): Promise<number> {
  const [pruned] = await database.query<{ rows: number }>(longRunning('SELECT auth.prune_audit($1, $2) AS rows'), [
    guildId,
    sequence,
  ]);
  return pruned?.rows ?? 0;
}

/**
 * Returns the position of the last audit entry that can be deleted: this entry and all entries before it are older than
 * `before`.
 */
export async function selectPrunable(
  database: Queryable,
  guildId: string,
  before: Date,
  limit: number,
): Promise<ChainPosition | undefined> {
  const [last] = await database.query<ChainPosition>(
    `WITH oldest AS (
       SELECT sequence, chain, bool_and(at < $2) OVER (ORDER BY sequence) AS "isOld"
       FROM auth.audit WHERE guild_id = $1 ORDER BY sequence LIMIT $3)
     SELECT sequence, chain FROM oldest WHERE "isOld" ORDER BY sequence DESC LIMIT 1`,
    [guildId, before, limit],
  );
  return last;
}
