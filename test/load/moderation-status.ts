// Measures reading ban and mute statuses from a large table: `npm run bench:moderation -- [ROWS]`. Starts a PostgreSQL
// in a temporary folder, which is always removed at the end.
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrate } from '#kit/postgres/migrations/migrate.ts';
import { type Database, openDatabase, type Queryable } from '#kit/postgres/pool.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { type RunningPostgres, startPostgres } from '#local/postgres.ts';
import { findStandings } from '#services/moderation/store/standings.ts';
import { nodesOf } from '#test/postgres/explain.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';

const MIGRATIONS = join(import.meta.dirname, '../../services/moderation/migrations');
const GIB = 2 ** 30;
/** Disk space, including indexes, write-ahead log and sorting. */
const BYTES_PER_ROW = 800;
const BATCH = 500_000;
const WARM_UP = 2_000;
const CALLS = 20_000;
const CALLERS = 2;
const BOUND_MS = 2;
const LARGE_GUILD = '900000000000000001';
const PLACE = 101;
/** Spreads the users over all game IDs without collisions, because 2^33 - 9 is prime. */
const SCATTER = { factor: 1_234_567_891n, prime: 8_589_934_583n };

/** Durable as by default. Autovacuum is off, so that it does not disturb the measurement. */
const SETTINGS = {
  shared_buffers: '1GB',
  maintenance_work_mem: '512MB',
  max_wal_size: '2GB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
};

/**
 * Four rows for each user: a ban that was lifted, the ban after it, a mute, a ban in a place; some of the last three
 * lifted, some expired, some permanent. Six of ten users are in the large guild, the rest in 19 others.
 */
const LOAD = `
  INSERT INTO moderation.punishments (guild_id, kind, game_id, place_id, game_username, reason, moderator_game_id,
    source_server_id, created_at, expires_at, ended_at, updated_at)
  SELECT guild_id, CASE WHEN nth = 2 THEN 'mute' ELSE 'ban' END, game_id,
    CASE WHEN nth = 3 THEN ${PLACE} + u % 5 ELSE 0 END, 'Player_' || u,
    (ARRAY['Cheats', 'Insults other players in the chat', 'Sells accounts, see the ticket of the support team'])[1 + n % 3],
    700000000 + u % 200, CASE WHEN n % 2 = 0 THEN gen_random_uuid()::text END, created_at, expires_at, ended_at,
    COALESCE(ended_at, created_at)
  FROM generate_series($1::bigint, $2::bigint) n,
    LATERAL (SELECT n / 4 AS u, n % 4 AS nth) number,
    LATERAL (SELECT u * ${SCATTER.factor}::numeric % ${SCATTER.prime} AS game_id,
      (${LARGE_GUILD} + CASE WHEN u % 10 < 6 THEN 0 ELSE 1 + u % 19 END)::text AS guild_id,
      now() - n * 7919 % 63072000 * interval '1 second' AS created_at) row,
    LATERAL (SELECT
      CASE WHEN nth > 0 AND u % (nth + 1) > 0 THEN created_at + interval '90 days' ELSE 'infinity' END AS expires_at,
      CASE WHEN nth = 0 OR u % 7 = nth THEN created_at + interval '1 day' END AS ended_at) times`;

const LOAD_FLAGS = `
  INSERT INTO moderation.shield (guild_id, game_id, reason, category, source, actor, flagged_at, expires_at)
  SELECT DISTINCT ON (game_id) CASE WHEN id % 2 = 0 THEN '0' ELSE guild_id END, game_id, 'Sells', 'scammer',
    'operator', 'ada', now(), 'infinity'::timestamptz
  FROM moderation.punishments WHERE id % 100 = 1`;

const INDEXES = `
  SELECT indexname AS name, indexdef AS definition FROM pg_indexes
  WHERE schemaname = 'moderation' AND tablename = 'punishments' AND indexname <> 'punishments_pkey'`;

interface Measured {
  users: number;
  /** Milliseconds, ascending. */
  times: number[];
  plan: string[];
}

const secondsSince = (begun: number) => Math.round((performance.now() - begun) / 1000);

function rowsWanted(argument = '10000000'): number {
  const rows = Number(argument);
  if (!Number.isSafeInteger(rows) || rows < 1_000) throw new Error('ROWS is a whole number of at least 1000');
  return rows;
}

function checkDisk(rows: number): void {
  const { bavail, bsize } = statfsSync(tmpdir());
  const [free, needed] = [bavail * bsize, Math.max(6 * GIB, rows * BYTES_PER_ROW)];
  const inGib = (bytes: number) => (bytes / GIB).toFixed(1);
  if (free < needed) throw new Error(`${tmpdir()} has ${inGib(free)} GiB free, ${inGib(needed)} GiB are needed`);
}

/** Fills the tables and creates the indexes afterwards. Returns the seconds that this took. */
async function load(client: Client, rows: number, signal: AbortSignal): Promise<number> {
  const begun = performance.now();
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(INDEXES);
  for (const { name } of indexes) await client.query(`DROP INDEX moderation.${name}`);
  for (let first = 0; first < rows; first += BATCH) {
    signal.throwIfAborted();
    const last = Math.min(first + BATCH, rows);
    await client.query(LOAD, [first, last - 1]);
    console.log(`${last} rows (${secondsSince(begun)} s)`);
  }
  await client.query(LOAD_FLAGS);
  for (const { name, definition } of indexes) {
    signal.throwIfAborted();
    await client.query(definition);
    console.log(`index ${name} (${secondsSince(begun)} s)`);
  }
  await client.query('VACUUM (ANALYZE) moderation.punishments, moderation.shield');
  await client.query('CHECKPOINT');
  return secondsSince(begun);
}

/** Reads the statuses of random users of the large guild, a fifth of whom have never been punished. */
function statusOf(users: number, known: number, random: () => number): (on: Queryable) => Promise<unknown> {
  const user = () => wholeNumber(random, (known / 10) * 1.25) * 10 + wholeNumber(random, 6);
  const gameId = () => Number((BigInt(user()) * SCATTER.factor) % SCATTER.prime);
  const gameIds = Array.from({ length: users }, gameId);
  const placeId = random() < 0.5 ? PLACE : null;
  return (on) => findStandings(on, [{ guildId: LARGE_GUILD, gameIds, placeId }], new Date());
}

async function measure(database: Database, users: number, known: number, signal: AbortSignal): Promise<Measured> {
  const random = seededRandom(users);
  const call = async (): Promise<number> => {
    signal.throwIfAborted();
    const statement = statusOf(users, known, random);
    const begun = performance.now();
    await statement(database);
    return performance.now() - begun;
  };
  const calls = async (count: number): Promise<number[]> => {
    const times: number[] = [];
    for (let n = 0; n < count; n += 1) times.push(await call());
    return times;
  };
  await Promise.all(Array.from({ length: CALLERS }, () => calls(WARM_UP)));
  const times = await Promise.all(Array.from({ length: CALLERS }, () => calls(CALLS / CALLERS)));
  const plan = await nodesOf(database, statusOf(users, known, random));
  return { users, times: times.flat().sort((a, b) => a - b), plan };
}

function report(rows: number, inTable: number, loadSeconds: number, measured: Measured[]): void {
  const machine = `${availableParallelism()} cores, load average ${loadavg()[0]?.toFixed(1)}`;
  console.log(`\nN ${rows}, rows in table ${inTable}, loaded in ${loadSeconds} s, ${machine}`);
  console.log('\n| users | calls | p50 ms | p99 ms | p99.9 ms | plan |\n|---|---|---|---|---|---|');
  for (const { users, times, plan } of measured) {
    const at = (share: number) => (times[Math.ceil(times.length * share) - 1] ?? 0).toFixed(2);
    console.log(`| ${users} | ${times.length} | ${at(0.5)} | ${at(0.99)} | ${at(0.999)} | ${plan.join(', ')} |`);
  }
  const p99 = measured[0]?.times[Math.ceil(CALLS * 0.99) - 1] ?? 0;
  const verdict = p99 <= BOUND_MS ? 'within' : 'over';
  console.log(`\np99 of one user is ${verdict} ${BOUND_MS} ms, the bound on a machine that does nothing else.`);
}

async function bench(url: string, rows: number, signal: AbortSignal): Promise<void> {
  await migrate({ url, service: 'moderation', directory: MIGRATIONS });
  const log = await createLog({ service: 'bench', level: 'silent' });
  const client = new Client({ connectionString: url });
  // The statement in flight reports the error too; without a listener it would end the process.
  client.on('error', () => {});
  const database = openDatabase({ url, poolMax: CALLERS, name: 'bench', metrics: new Metrics(), log });
  try {
    await client.connect();
    const loadSeconds = await load(client, rows, signal);
    const counted = await client.query<{ count: string }>('SELECT count(*) FROM moderation.punishments');
    const measured: Measured[] = [];
    for (const users of [1, 25]) measured.push(await measure(database, users, Math.floor(rows / 4), signal));
    report(rows, Number(counted.rows[0]?.count), loadSeconds, measured);
  } finally {
    await Promise.allSettled([client.end(), database.close()]);
  }
}

async function run(argument: string | undefined): Promise<void> {
  const rows = rowsWanted(argument);
  checkDisk(rows);
  const stop = new AbortController();
  const { signal } = stop;
  const stopped = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  // Takes effect once the server runs. Until then startPostgres handles the signal itself.
  stopped.catch(() => undefined);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => stop.abort(new Error(`ended by ${name}`)));
  const folder = mkdtempSync(join(tmpdir(), 'guild-data-load-'));
  let postgres: RunningPostgres | undefined;
  try {
    postgres = await startPostgres({ folder, settings: SETTINGS, signal });
    await Promise.race([bench(postgres.url, rows, signal), stopped]);
  } finally {
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

await run(process.argv[2]).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
