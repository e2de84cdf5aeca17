import type { Queryable, Transaction } from '#kit/postgres/pool.ts';

/** One of the connections to the chat platform's websocket, which share the guilds. */
export interface ShardName {
  shardCount: number;
  shardId: number;
}

/** A session of a shard, from which another connection can continue. */
export interface ShardSession {
  sessionId: string;
  /** The number of the last event that is stored in the mirror. */
  sequence: number;
  resumeUrl: string;
}

/** A shard that this process owns. */
export interface OwnedShard extends ShardName {
  /** The session to resume; null if a new one has to begin. */
  session: ShardSession | null;
  botId: string | null;
  epoch: string | null;
}

interface ShardRow {
  sessionId: string | null;
  sequence: number;
  resumeUrl: string;
  botId: string | null;
  epoch: string | null;
}

function toOwnedShard(name: ShardName, { sessionId, sequence, resumeUrl, botId, epoch }: ShardRow): OwnedShard {
  const session = sessionId === null ? null : { sessionId, sequence, resumeUrl };
  return { ...name, session, botId, epoch };
}

/** Makes sure that all shards have a row. */
export async function addShards(on: Queryable, shardCount: number): Promise<void> {
  await on.query(
    `INSERT INTO members.chat_shards (shard_count, shard_id)
     SELECT $1, shard_id FROM generate_series(0, $1::integer - 1) AS shard_id ON CONFLICT DO NOTHING`,
    [shardCount],
  );
}

/** Returns the number of shards with which processes were connected last; undefined at the first start. */
export async function findShardCount(on: Queryable): Promise<number | undefined> {
  const [row] = await on.query<{ count: number }>(
    `SELECT shard_count AS count FROM members.chat_shards ORDER BY leased_until DESC, shard_count DESC LIMIT 1`,
  );
  return row?.count;
}

/** Acquires the lease of one shard that nobody owns; undefined if all have an owner. */
export async function claimShard(
  on: Queryable,
  shardCount: number,
  holder: string,
  leaseMs: number,
): Promise<OwnedShard | undefined> {
  const [row] = await on.query<ShardRow & ShardName>(
    `UPDATE members.chat_shards SET holder = $2, leased_until = clock_timestamp() + $3 * interval '1 ms'
     WHERE (shard_count, shard_id) = (
       SELECT shard_count, shard_id FROM members.chat_shards
       WHERE shard_count = $1 AND leased_until < clock_timestamp()
       ORDER BY shard_id LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING shard_count AS "shardCount", shard_id AS "shardId", session_id AS "sessionId", sequence,
       resume_url AS "resumeUrl", bot_id AS "botId", epoch`,
    [shardCount, holder, leaseMs],
  );
  if (!row) return undefined;
  return toOwnedShard({ shardCount, shardId: row.shardId }, row);
}

/** Locks a shard and reads it; undefined if the holder does not own it any more. */
export async function lockShard(
  on: Queryable,
  { shardCount, shardId }: ShardName,
  holder: string,
): Promise<OwnedShard | undefined> {
  const [row] = await on.query<ShardRow>(
    `SELECT session_id AS "sessionId", sequence, resume_url AS "resumeUrl", bot_id AS "botId", epoch
     FROM members.chat_shards WHERE shard_count = $1 AND shard_id = $2 AND holder = $3 FOR UPDATE`,
    [shardCount, shardId, holder],
  );
  if (!row) return undefined;
  return toOwnedShard({ shardCount, shardId }, row);
}

/**
 * Extends the lease of a shard, and how long the mirror may be used (not at all with `liveMs` 0). Returns false if
 * another process owns the shard.
 */
export async function renewShard(
  on: Queryable,
  { shardCount, shardId }: ShardName,
  holder: string,
  { leaseMs, liveMs }: { leaseMs: number; liveMs: number },
): Promise<boolean> {
  const renewed = await on.query(
    `UPDATE members.chat_shards SET leased_until = clock_timestamp() + $4 * interval '1 ms',
       live_until = CASE WHEN $5 > 0 THEN clock_timestamp() + $5 * interval '1 ms'
         ELSE least(live_until, clock_timestamp()) END
     WHERE shard_count = $1 AND shard_id = $2 AND holder = $3 RETURNING 1`,
    [shardCount, shardId, holder, leaseMs, liveMs],
  );
  return renewed.length > 0;
}

/**
 * Gives a shard away, so that another process can resume its session at once. The end of the lease stays stored, because
 * `findShardCount` finds by it with how many shards processes were connected last.
 */
export async function releaseShard(on: Queryable, { shardCount, shardId }: ShardName, holder: string): Promise<void> {
  await on.query(
    `UPDATE members.chat_shards SET holder = NULL, leased_until = clock_timestamp(),
       live_until = least(live_until, clock_timestamp())
     WHERE shard_count = $1 AND shard_id = $2 AND holder = $3`,
    [shardCount, shardId, holder],
  );
}

/**
 * Stores the position in the stream of events. Returns false, without a change, if the holder does not own the shard, if
 * the shard has another session, or if the position is already after `sequence`.
 */
export async function advanceShard(
  on: Transaction,
  { shardCount, shardId }: ShardName,
  holder: string,
  { sessionId, sequence }: Pick<ShardSession, 'sessionId' | 'sequence'>,
): Promise<boolean> {
  const advanced = await on.query(
    `UPDATE members.chat_shards SET sequence = $5
     WHERE shard_count = $1 AND shard_id = $2 AND holder = $3 AND session_id = $4 AND sequence <= $5 RETURNING 1`,
    [shardCount, shardId, holder, sessionId, sequence],
  );
  return advanced.length > 0;
}

/** Stores a new session, with a new epoch, because events before it may have been missed. Returns the epoch. */
export async function beginSession(
  on: Transaction,
  { shardCount, shardId }: ShardName,
  { sessionId, sequence, resumeUrl, botId }: ShardSession & { botId: string },
): Promise<string> {
  const [row] = await on.query<{ epoch: string }>(
    `UPDATE members.chat_shards SET session_id = $3, sequence = $4, resume_url = $5, bot_id = $6,
       epoch = gen_random_uuid(), refused = NULL
     WHERE shard_count = $1 AND shard_id = $2 RETURNING epoch`,
    [shardCount, shardId, sessionId, sequence, resumeUrl, botId],
  );
  return row?.epoch ?? '';
}

/** Stores why the platform rejected the connection. */
export async function setRejected(
  on: Queryable,
  { shardCount, shardId }: ShardName,
  holder: string,
  rejected: string,
): Promise<void> {
  await on.query(
    `UPDATE members.chat_shards SET refused = $4 WHERE shard_count = $1 AND shard_id = $2 AND holder = $3`,
    [shardCount, shardId, holder, rejected],
  );
}

const IDENTIFY_LOCK = 'members.chat_shards identify';

/**
 * Allows the shard to begin a session now, if no shard of the same rate limit has done so in the last `everyMs`. The
 * platform ends the session otherwise. Shards whose numbers have the same remainder share a rate limit.
 */
export async function admitIdentify(
  on: Transaction,
  { shardCount, shardId }: ShardName,
  { concurrency, everyMs }: { concurrency: number; everyMs: number },
): Promise<boolean> {
  // Without the lock, two processes could see that nobody has begun a session, and both begin one.
  await on.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [IDENTIFY_LOCK]);
  const admitted = await on.query(
    `UPDATE members.chat_shards SET identified_at = clock_timestamp()
     WHERE shard_count = $1 AND shard_id = $2 AND NOT EXISTS (
       SELECT FROM members.chat_shards AS other
       WHERE other.shard_id % $3 = $2 % $3 AND other.identified_at > clock_timestamp() - $4 * interval '1 ms')
     RETURNING 1`,
    [shardCount, shardId, concurrency, everyMs],
  );
  return admitted.length > 0;
}
