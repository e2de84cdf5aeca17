import { longRunning, type Queryable } from '#kit/postgres/pool.ts';

/** The guild ID of what concerns no guild. */
export const INSTALLATION = '';

export interface AuditRow {
  sequence: number;
  at: Date;
  /** The operator. */
  actor: string;
  action: string;
  service: string;
  /** The full method path. */
  method: string;
  /** Of the key that it concerns. */
  number: number | null;
  /** null once it was erased. */
  details: Record<string, unknown> | null;
}

export type NewEntry = Omit<AuditRow, 'sequence' | 'number'>;

/** Appends an entry for each of the keys; null is an entry that concerns no key. The database gives it its place. */
export async function appendEntries(
  transaction: Queryable,
  guildId: string,
  numbers: readonly (number | null)[],
  entry: NewEntry,
): Promise<void> {
  await transaction.query(
    `INSERT INTO auth.audit (guild_id, number, at, actor, action, service, method, details)
     SELECT $1, number, $3, $4, $5, $6, $7, $8 FROM unnest($2::integer[]) AS number`,
    [
      guildId,
      numbers,
      entry.at,
      entry.actor,
      entry.action,
      entry.service,
      entry.method,
      JSON.stringify(entry.details ?? {}),
    ],
  );
}

/** A page of a guild's entries since a time and before a place in the chain, the newest first. */
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

export interface Head {
  guildId: string;
  sequence: number;
  chain: Buffer;
}

/** Where a guild's chain ends; undefined where it never began. */
export async function selectHead(database: Queryable, guildId: string): Promise<Head | undefined> {
  const [head] = await database.query<Head>(
    `SELECT guild_id AS "guildId", sequence, chain FROM auth.audit_heads WHERE guild_id = $1`,
    [guildId],
  );
  return head;
}

/** A page of the ends of all chains behind a guild; from the beginning without one. */
export function selectHeads(database: Queryable, after: string | undefined, limit: number): Promise<Head[]> {
  return database.query<Head>(
    `SELECT guild_id AS "guildId", sequence, chain FROM auth.audit_heads
     WHERE guild_id ${after === undefined ? '>=' : '>'} $1 ORDER BY guild_id LIMIT $2`,
    [after ?? '', limit],
  );
}

/** An entry as verification reads it: what was hashed, made anew from what is stored. */
export interface LinkRow {
  sequence: number;
  salt: Buffer | null;
  /** The details as text; null once erased. */
  text: string | null;
  digest: Buffer;
  /** What the chain adds to the link before, except the digest's own check. */
  link: string;
  chain: Buffer;
}

/** Entries of a guild behind a place, in order. The expression of `link` is that of auth.audit_link (migration 0003). */
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
  /** Names the key of the signature. */
  keyId: string;
  createdAt: Date;
  signature: Buffer;
}

/** The checkpoints of a guild, in order. */
export function selectCheckpoints(database: Queryable, guildId: string): Promise<Checkpoint[]> {
  return database.query<Checkpoint>(
    `SELECT guild_id AS "guildId", sequence, key_id AS "keyId", chain, created_at AS "createdAt", signature
     FROM auth.audit_checkpoints WHERE guild_id = $1 ORDER BY sequence`,
    [guildId],
  );
}

/** Two replicas may make the same checkpoint: the first one counts. */
export async function insertCheckpoint(database: Queryable, checkpoint: Checkpoint): Promise<boolean> {
  const { guildId, sequence, keyId, chain, createdAt, signature } = checkpoint;
  const inserted = await database.query(
    `INSERT INTO auth.audit_checkpoints (guild_id, sequence, key_id, chain, created_at, signature)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (guild_id, sequence, key_id) DO NOTHING RETURNING 1`,
    [guildId, sequence, keyId, chain, createdAt, signature],
  );
  return inserted.length > 0;
}

/** A page of the chains that went on since they were last signed under a key, with where they end. */
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

/** Deletes entries up to a checkpoint, and the checkpoints before it. 0 when anything of it is younger than 30 days. */
export async function pruneTo(database: Queryable, guildId: string, sequence: number): Promise<number> {
  const [pruned] = await database.query<{ rows: number }>(longRunning('SELECT auth.prune_audit($1, $2) AS rows'), [
    guildId,
    sequence,
  ]);
  return pruned?.rows ?? 0;
}

/** The last of the oldest entries of a guild that are all older than a time; undefined where the oldest is not. */
export async function selectPrunable(
  database: Queryable,
  guildId: string,
  before: Date,
  limit: number,
): Promise<{ sequence: number; chain: Buffer } | undefined> {
  const [last] = await database.query<{ sequence: number; chain: Buffer }>(
    `WITH oldest AS (
       SELECT sequence, chain, bool_and(at < $2) OVER (ORDER BY sequence) AS "isOld"
       FROM auth.audit WHERE guild_id = $1 ORDER BY sequence LIMIT $3)
     SELECT sequence, chain FROM oldest WHERE "isOld" ORDER BY sequence DESC LIMIT 1`,
    [guildId, before, limit],
  );
  return last;
}
