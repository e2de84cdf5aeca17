import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { type Database, openDatabase } from '#kit/postgres/pool.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import * as store from '../../store/audit.ts';
import { AuthTelemetry } from '../../telemetry.ts';
import { AuditKeeper } from './keeper.ts';
import { verifyPart } from './verify.ts';

const DAY_MS = 24 * 3600 * 1000;
const WRITERS = 16;
const SECRETS = ['a secret for the audit of more than 32 bytes', 'its successor, also of more than 32 bytes'] as const;

const ring = new SecretRing([SECRETS[0]]);
const clock = systemClock;
const log: string[] = [];
let testDatabase: TestDatabase;
let database: Database;
let telemetry: AuthTelemetry;
let lastGuild = 900000000000000000n;

const newGuild = () => String(++lastGuild);

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const logger = await createLog({
    service: 'test',
    level: 'info',
    destination: { write: (line) => void log.push(line) },
  });
  const metrics = new Metrics();
  database = openDatabase({ url: testDatabase.url, poolMax: WRITERS, name: 'test', metrics, log: logger });
  telemetry = new AuthTelemetry(new Metrics(), logger);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

function append(guildId: string, details: Record<string, unknown> = {}, at = new Date(clock.now())): Promise<void> {
  const entry = { at, actor: 'ada', action: 'update', service: 'auth', method: '/x/Y', details };
  return store.appendEntries(database, guildId, [null], entry);
}

async function chainOf(entries: number): Promise<string> {
  const guildId = newGuild();
  for (let n = 1; n <= entries; n++) await append(guildId, { n, game_id: 7000 + n });
  return guildId;
}

const verify = (guildId: string, by = ring) => verifyPart(database, by, guildId, undefined);
/** Runs a statement as the owner of the tables, as an attacker with full access to the database could. */
const tamper = (statement: string, ...values: unknown[]) => databaseRows(testDatabase.url, statement, values);

function keeper(retentionSeconds = 0, by = ring): AuditKeeper {
  return new AuditKeeper({ database, clock, ring: by, telemetry, retentionSeconds, lease: { isHeld: true, term: 1 } });
}

test('16 concurrent writers produce a chain without gaps and forks, even if some of them roll back', async () => {
  const guildId = newGuild();
  const other = newGuild();
  let committed = 0;
  let rolledBack = 0;
  const write = async (writer: number) => {
    for (let n = 0; n < 25; n++) {
      const isRolledBack = (writer + n) % 5 === 0;
      const work = database.transaction(async (transaction) => {
        const entry = { at: new Date(), actor: `w${writer}`, action: 'x', service: 'auth', method: '', details: { n } };
        await store.appendEntries(transaction, guildId, [1, 2], entry);
        if (isRolledBack) throw new Error('rolled back');
      });
      await work.then(
        () => (committed += 2),
        (error: Error) => (rolledBack += Number(error.message === 'rolled back')),
      );
      if (n % 10 === 0) await append(other, { writer });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  expect([committed, rolledBack]).toEqual([640, 80]);
  const rows = await store.selectLinks(database, guildId, 0, 10_000);
  expect(rows.map(({ sequence }) => sequence)).toEqual(Array.from({ length: committed }, (_, index) => index + 1));
  expect(await verify(guildId)).toMatchObject({ entries: committed, firstBreak: undefined, next: undefined });
  expect((await verify(other)).firstBreak).toBeUndefined();
});

test('a chain is intact if entries are appended while it is verified', async () => {
  const guildId = await chainOf(3);
  const writing = (async () => {
    for (let n = 0; n < 200; n++) await append(guildId, { n });
  })();
  const lengths = new Set<number>();
  while ((await store.selectHead(database, guildId))?.sequence !== 203) {
    const { entries, firstBreak } = await verify(guildId);
    expect(firstBreak).toBeUndefined();
    lengths.add(entries);
  }
  await writing;
  expect(lengths.size).toBeGreaterThan(1);
  expect((await verify(guildId)).entries).toBe(203);
});

describe('tampering by an attacker with full access to the database is detected', () => {
  test.each([
    ['the details of an entry', `UPDATE auth.audit SET details = '{"n": 99}' WHERE guild_id = $1 AND sequence = 3`, 3],
    ['the operator of an entry', `UPDATE auth.audit SET actor = 'eve' WHERE guild_id = $1 AND sequence = 3`, 3],
    ['the time of an entry', `UPDATE auth.audit SET at = '2026-01-01' WHERE guild_id = $1 AND sequence = 2`, 2],
    ['the method of an entry', `UPDATE auth.audit SET method = '/a/B' WHERE guild_id = $1 AND sequence = 1`, 1],
    [
      'only one of the two columns that erasure clears',
      `UPDATE auth.audit SET salt = NULL WHERE guild_id = $1 AND sequence = 4`,
      4,
    ],
    ['an entry, by deleting it', `DELETE FROM auth.audit WHERE guild_id = $1 AND sequence = 3`, 3],
    ['the first entry, by deleting it', `DELETE FROM auth.audit WHERE guild_id = $1 AND sequence = 1`, 2],
    ['the last entries, by deleting them', `DELETE FROM auth.audit WHERE guild_id = $1 AND sequence >= 4`, 4],
    ['everything, by deleting it', `DELETE FROM auth.audit WHERE guild_id = $1`, 1],
    ['the recorded end of the chain', `UPDATE auth.audit_heads SET sequence = 4 WHERE guild_id = $1`, 6],
  ])('changing %s', async (_, statement, sequence) => {
    const guildId = await chainOf(5);
    expect((await verify(guildId)).firstBreak).toBeUndefined();
    await tamper(statement, guildId);
    expect((await verify(guildId)).firstBreak?.sequence).toBe(sequence);
  });

  test('swapping two entries', async () => {
    const guildId = await chainOf(5);
    await tamper(
      `WITH moved AS (SELECT sequence, details, salt, digest FROM auth.audit WHERE guild_id = $1 AND sequence IN (2, 4))
       UPDATE auth.audit a SET details = m.details, salt = m.salt, digest = m.digest
       FROM moved m WHERE a.guild_id = $1 AND a.sequence = 6 - m.sequence`,
      guildId,
    );
    expect((await verify(guildId)).firstBreak).toMatchObject({ sequence: 2 });
  });

  test('deleting the last entries up to a checkpoint, and changing the head accordingly', async () => {
    const guildId = await chainOf(5);
    await keeper().run();
    await tamper('DELETE FROM auth.audit WHERE guild_id = $1 AND sequence > 3', guildId);
    await tamper(
      `UPDATE auth.audit_heads h SET sequence = 3, chain = a.chain
       FROM auth.audit a WHERE h.guild_id = $1 AND a.guild_id = $1 AND a.sequence = 3`,
      guildId,
    );
    expect((await verify(guildId)).firstBreak).toEqual({
      sequence: 4,
      reason: 'the entries up to the signed checkpoint 5 are missing',
    });
  });

  test('rebuilding the whole chain with other entries, including the checkpoint', async () => {
    const guildId = await chainOf(5);
    await keeper().run();
    await tamper('DELETE FROM auth.audit WHERE guild_id = $1', guildId);
    await tamper('DELETE FROM auth.audit_heads WHERE guild_id = $1', guildId);
    for (let n = 1; n <= 5; n++) await append(guildId, { n, forged: true });
    expect((await verify(guildId)).firstBreak?.sequence).toBe(5);
    await tamper(
      `UPDATE auth.audit_checkpoints c SET chain = h.chain FROM auth.audit_heads h
       WHERE c.guild_id = $1 AND h.guild_id = $1`,
      guildId,
    );
    expect((await verify(guildId)).firstBreak?.reason).toMatch(/not signed by auth/);
  });
});

test('erasure removes the details about a person, and the chain stays intact', async () => {
  const guildId = await chainOf(5);
  await append(guildId, { chat_id: '920000000000000001' });
  const erased = await database.query('SELECT auth.erase_audit_of_user($1, 7002, $2, 1000) AS rows', [
    guildId,
    '920000000000000001',
  ]);
  expect(erased).toEqual([{ rows: 2 }]);
  const entries = await store.selectEntries(database, guildId, { since: new Date(0), before: 100, limit: 100 });
  expect(entries.filter(({ details }) => details === null).map(({ sequence }) => sequence)).toEqual([6, 2]);
  expect(entries.every(({ actor }) => actor === 'ada')).toBe(true);
  const remaining = await tamper(
    'SELECT 1 FROM auth.audit WHERE guild_id = $1 AND (game_id = 7002 OR chat_id IS NOT NULL)',
    guildId,
  );
  expect(remaining).toEqual([]);
  expect(await verify(guildId)).toMatchObject({ entries: 6, firstBreak: undefined });
  await database.query('SELECT auth.erase_audit_of_guild($1, 1000)', [guildId]);
  expect(await tamper('SELECT 1 FROM auth.audit WHERE guild_id = $1 AND details IS NOT NULL', guildId)).toEqual([]);
  expect(await verify(guildId)).toMatchObject({ entries: 6, firstBreak: undefined });
});

describe('retention', () => {
  const old = () => new Date(Date.now() - 400 * DAY_MS);

  test('deletes old entries up to a signed checkpoint, and the other entries can still be verified', async () => {
    const guildId = newGuild();
    for (let n = 1; n <= 4; n++) await append(guildId, { n }, old());
    for (let n = 5; n <= 6; n++) await append(guildId, { n }, new Date());
    await keeper(365 * 24 * 3600).run();
    const rows = await store.selectLinks(database, guildId, 0, 100);
    expect(rows.map(({ sequence }) => sequence)).toEqual([5, 6]);
    expect(await verify(guildId)).toMatchObject({ entries: 2, firstBreak: undefined, checkpoint: 6 });
    expect(log.some((line) => line.includes('audit checkpoint signed') && line.includes(guildId))).toBe(true);
    await append(guildId, { n: 7 }, new Date());
    expect((await verify(guildId)).firstBreak).toBeUndefined();
    await tamper('DELETE FROM auth.audit WHERE guild_id = $1 AND sequence = 5', guildId);
    expect((await verify(guildId)).firstBreak).toMatchObject({ sequence: 6 });
  });

  test('a chain whose entries were all pruned continues from the checkpoint', async () => {
    const guildId = newGuild();
    for (let n = 1; n <= 3; n++) await append(guildId, { n }, old());
    await keeper(365 * 24 * 3600).run();
    expect(await verify(guildId)).toMatchObject({ entries: 0, firstBreak: undefined, checkpoint: 3 });
    await append(guildId, { n: 4 });
    expect(await verify(guildId)).toMatchObject({ entries: 1, firstBreak: undefined });
  });

  test('a broken chain is reported, and neither signed nor pruned', async () => {
    const guildId = newGuild();
    for (let n = 1; n <= 3; n++) await append(guildId, { n }, old());
    await tamper(`UPDATE auth.audit SET actor = 'eve' WHERE guild_id = $1 AND sequence = 2`, guildId);
    await keeper(365 * 24 * 3600).run();
    expect(await store.selectLinks(database, guildId, 0, 100)).toHaveLength(3);
    expect(await store.selectNewestCheckpoints(database, guildId)).toEqual([]);
    expect(log.some((line) => line.includes('audit chain is broken') && line.includes(guildId))).toBe(true);
  });

  test('the database does not delete entries that are younger than 30 days or not covered by a checkpoint', async () => {
    const guildId = await chainOf(3);
    await keeper().run();
    expect(await store.pruneTo(database, guildId, 3)).toBe(0);
    const unsigned = newGuild();
    await append(unsigned, {}, old());
    expect(await store.pruneTo(database, unsigned, 1)).toBe(0);
  });
});

test('checkpoints survive a rotation of the secret, because all of them are signed again under the new one', async () => {
  const guildId = newGuild();
  for (let n = 1; n <= 4; n++) await append(guildId, { n }, new Date(Date.now() - 400 * DAY_MS));
  await append(guildId, { n: 5 }, new Date());
  await keeper(365 * 24 * 3600).run();
  const [before, both, after] = [ring, new SecretRing([SECRETS[1], SECRETS[0]]), new SecretRing([SECRETS[1]])];
  expect((await verify(guildId, before)).firstBreak).toBeUndefined();
  expect((await verify(guildId, both)).firstBreak).toBeUndefined();
  expect((await verify(guildId, after)).firstBreak?.reason).toMatch(/its secret was removed too soon/);
  await keeper(0, both).run();
  expect((await verify(guildId, after)).firstBreak).toBeUndefined();
});
