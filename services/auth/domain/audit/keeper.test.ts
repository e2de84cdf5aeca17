import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import * as store from '../../store/audit.ts';
import { AuthTelemetry } from '../../telemetry.ts';
import { AuditKeeper } from './keeper.ts';
import { verifyPart } from './verify.ts';

const HOUR_MS = 3_600_000;
const DAYS_400_MS = 400 * 24 * HOUR_MS;
const YEAR_SECONDS = 365 * 24 * 3_600;
const BATCH = 500;
const ring = new SecretRing(['a secret for the audit of more than 32 bytes']);
const log: string[] = [];
let clock: ManualClock;
let testDatabase: TestDatabase;
let database: Database;
let telemetry: AuthTelemetry;
let lastGuild = 900000000000000000n;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  const destination = { write: (line: string) => void log.push(line) };
  telemetry = new AuthTelemetry(new Metrics(), await createLog({ service: 'test', level: 'info', destination }));
});
beforeEach(() => {
  clock = new ManualClock(Date.now());
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

async function append(guildId: string, count: number, at = new Date(clock.now())): Promise<void> {
  const entry = { at, actor: 'ada', action: 'update', service: 'auth', method: '', details: {} };
  // In batches, because the time of a statement grows with the square of its entries: each updates the head of the chain.
  for (let left = count; left > 0; left -= BATCH) {
    const numbers = Array.from({ length: Math.min(left, BATCH) }, () => null);
    await store.appendEntries(database, guildId, numbers, entry);
  }
}

async function chainOf(entries: number): Promise<string> {
  const guildId = String(++lastGuild);
  await append(guildId, entries);
  return guildId;
}

/** A keeper whose first run, the pass over all chains, has ended. */
async function startedKeeper(on: Database = database, lease = { isHeld: true, term: 1 }): Promise<AuditKeeper> {
  const keeper = new AuditKeeper({ database: on, clock, ring, telemetry, retentionSeconds: 0, lease });
  await keeper.run();
  return keeper;
}

/** The database, with `before` called before each query. */
const intercepted = (before: (statement: string, values: readonly unknown[]) => void): Database => ({
  ...database,
  transaction: (work) => database.transaction(work),
  query: async (statement, values) => {
    before(typeof statement === 'string' ? statement : '', values ?? []);
    return database.query(statement, values);
  },
});

async function runAfterHours(keeper: AuditKeeper, hours: number): Promise<void> {
  clock.advance(hours * HOUR_MS);
  await keeper.run();
}

const tamper = (statement: string, guildId: string) => databaseRows(testDatabase.url, statement, [guildId]);
const changeEntry = (guildId: string, sequence: number, actor = 'eve') =>
  tamper(`UPDATE auth.audit SET actor = '${actor}' WHERE guild_id = $1 AND sequence = ${sequence}`, guildId);
const reportsOf = (guildId: string) =>
  log.filter((line) => line.includes('audit chain is broken') && line.includes(guildId)).length;
const signedUpTo = async (guildId: string) => (await store.selectNewestCheckpoints(database, guildId))[0]?.sequence;

test('the hourly run verifies and signs only the entries after the newest checkpoint', async () => {
  const guildId = await chainOf(3);
  /** The sequence numbers after which entries of the chain were read, 5,000 at most. */
  const reads: unknown[] = [];
  const recorded = intercepted((_, values) => {
    if (values[0] === guildId && values[2] === 5_000) reads.push(values[1]);
  });
  const keeper = await startedKeeper(recorded);
  expect(reads).toEqual([0]);
  await append(guildId, 2);
  await runAfterHours(keeper, 1);
  expect(await signedUpTo(guildId)).toBe(5);
  await append(guildId, 1);
  await runAfterHours(keeper, 1);
  expect(await signedUpTo(guildId)).toBe(6);
  expect(reads).toEqual([0, 3, 5]);
});

test.each([
  ['a changed new entry', `UPDATE auth.audit SET actor = 'eve' WHERE guild_id = $1 AND sequence = 5`],
  ['a missing new entry', 'DELETE FROM auth.audit WHERE guild_id = $1 AND sequence = 4'],
  ['a chain that was rebuilt after an old entry', `UPDATE auth.audit_heads SET chain = '\\x01' WHERE guild_id = $1`],
  [
    'a newest checkpoint that auth did not sign',
    `UPDATE auth.audit_checkpoints SET chain = '\\x01' WHERE guild_id = $1`,
  ],
])('%s is found by the next hourly run, and the chain is not signed', async (_, statement) => {
  const guildId = await chainOf(3);
  const keeper = await startedKeeper();
  await append(guildId, 2);
  await tamper(statement, guildId);
  await runAfterHours(keeper, 1);
  expect(reportsOf(guildId)).toBe(1);
  expect(await signedUpTo(guildId)).toBe(3);
});

test('a changed old entry is found within a day, even if its chain does not grow, and reported every hour until it is repaired', async () => {
  const [quiet, grown] = [await chainOf(3), await chainOf(3)];
  const keeper = await startedKeeper();
  await changeEntry(quiet, 2);
  await changeEntry(grown, 2);
  await runAfterHours(keeper, 1);
  expect(reportsOf(quiet)).toBe(0);
  await runAfterHours(keeper, 23);
  expect([reportsOf(quiet), reportsOf(grown)]).toEqual([1, 1]);
  await append(grown, 1);
  await runAfterHours(keeper, 1);
  expect([reportsOf(quiet), reportsOf(grown)]).toEqual([2, 2]);
  expect(await signedUpTo(grown)).toBe(3);
  await changeEntry(quiet, 2, 'ada');
  await changeEntry(grown, 2, 'ada');
  await runAfterHours(keeper, 1);
  expect([reportsOf(quiet), reportsOf(grown)]).toEqual([2, 2]);
  expect(await signedUpTo(grown)).toBe(4);
});

test('a chain that cannot be read does not keep the chains after it from being verified and signed', async () => {
  const [unreadable, next] = [await chainOf(1), await chainOf(1)];
  const keeper = await startedKeeper(
    intercepted((_, values) => {
      if (values.includes(unreadable)) throw new Error('failed');
    }),
  );
  expect(await signedUpTo(next)).toBe(1);
  await append(next, 1);
  await runAfterHours(keeper, 1);
  expect(await signedUpTo(next)).toBe(2);
});

test('a broken chain that cannot be read does not keep other chains from being signed every hour, and stays unsigned', async () => {
  const [broken, next] = [await chainOf(3), await chainOf(1)];
  let isReadable = true;
  const keeper = await startedKeeper(
    intercepted((_, values) => {
      if (!isReadable && values[0] === broken) throw new Error('failed');
    }),
  );
  await changeEntry(broken, 2);
  await runAfterHours(keeper, 24);
  isReadable = false;
  await append(next, 1);
  await runAfterHours(keeper, 1);
  expect(await signedUpTo(next)).toBe(2);
  isReadable = true;
  await append(broken, 1);
  await runAfterHours(keeper, 1);
  expect(await signedUpTo(broken)).toBe(3);
});

test('a keeper that gets the lease again signs no chain that another keeper has found broken meanwhile', async () => {
  const guildId = await chainOf(3);
  const lease = { isHeld: true, term: 1 };
  const keeper = await startedKeeper(database, lease);
  await changeEntry(guildId, 2);
  await startedKeeper();
  expect(reportsOf(guildId)).toBe(1);
  lease.term = 2;
  await append(guildId, 1);
  await runAfterHours(keeper, 1);
  expect(reportsOf(guildId)).toBe(2);
  expect(await signedUpTo(guildId)).toBe(3);
});

test('a keeper that loses the lease during a pass and gets it again verifies all chains from the first one', async () => {
  const [first, last] = [await chainOf(3), await chainOf(3)];
  const lease = { isHeld: true, term: 1 };
  const keeper = await startedKeeper(
    intercepted((_, values) => {
      if (values[0] === first && values[2] === 5_000) lease.term = 2;
    }),
    lease,
  );
  expect(await signedUpTo(last)).toBeUndefined();
  await changeEntry(first, 2);
  await runAfterHours(keeper, 1);
  expect(reportsOf(first)).toBe(1);
  expect(await signedUpTo(last)).toBe(3);
});

test('a pass that takes longer than an hour leaves out no chain if signing the others fails', async () => {
  const [slow, next] = [await chainOf(1), await chainOf(1)];
  let failures = 0;
  await startedKeeper(
    intercepted((statement, values) => {
      if (values[0] === slow && values[2] === 5_000) clock.advance(HOUR_MS);
      if (!statement.includes('audit_heads AS heads')) return;
      failures++;
      throw new Error('failed');
    }),
  );
  expect(failures).toBe(1);
  expect(await signedUpTo(next)).toBe(1);
});

test('each part of a long chain verifies the signatures of its own checkpoints, each once', async () => {
  const guildId = await chainOf(3);
  const keeper = await startedKeeper();
  await append(guildId, 4_999);
  await runAfterHours(keeper, 1);
  const verifies = vi.spyOn(ring, 'verifies');
  const first = await verifyPart(database, ring, guildId, undefined);
  expect(first).toMatchObject({ entries: 5_000, checkpoint: 5_002, firstBreak: undefined });
  expect(verifies).toHaveBeenCalledTimes(1);
  const second = await verifyPart(database, ring, guildId, first.next);
  expect(second).toMatchObject({ entries: 2, firstBreak: undefined, next: undefined });
  expect(verifies).toHaveBeenCalledTimes(2);
});

test('one pass deletes all entries older than the retention, also more than one statement deletes', async () => {
  const guildId = await chainOf(0);
  await append(guildId, 5_001, new Date(clock.now() - DAYS_400_MS));
  await append(guildId, 1);
  const options = {
    database,
    clock,
    ring,
    telemetry,
    retentionSeconds: YEAR_SECONDS,
    lease: { isHeld: true, term: 1 },
  };
  await new AuditKeeper(options).run();
  const rows = await store.selectLinks(database, guildId, 0, 10);
  expect(rows.map(({ sequence }) => sequence)).toEqual([5_002]);
  expect((await verifyPart(database, ring, guildId, undefined)).firstBreak).toBeUndefined();
});

test('of more than a hundred broken chains none is signed, and each is verified again in its turn', async () => {
  const guildIds: string[] = [];
  for (let chains = 0; chains < 105; chains++) guildIds.push(await chainOf(2));
  const keeper = await startedKeeper();
  await tamper(`UPDATE auth.audit SET actor = 'eve' WHERE sequence = 1 AND guild_id >= $1`, guildIds[0] as string);
  await runAfterHours(keeper, 24);
  for (const guildId of guildIds) await append(guildId, 1);
  await runAfterHours(keeper, 1);
  await runAfterHours(keeper, 1);
  const [last] = guildIds.slice(-1) as [string];
  expect(new Set(await Promise.all(guildIds.map(signedUpTo)))).toEqual(new Set([2]));
  expect(reportsOf(last)).toBeGreaterThan(1);
  await changeEntry(last, 1, 'ada');
  await runAfterHours(keeper, 1);
  await runAfterHours(keeper, 1);
  expect(await signedUpTo(last)).toBe(3);
});
