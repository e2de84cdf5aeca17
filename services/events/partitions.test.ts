import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '#kit/postgres/pool.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { databaseRows } from '#test/postgres/database.ts';
import { prepareRoles } from '../../deploy/database-roles.ts';
import { forgetDays, Partitions } from './domain/partitions.ts';
import { EventsFixture, newGuild, recordedFrom } from './fixture.ts';
import { EventsTelemetry } from './telemetry/log.ts';

const DAY = 24 * 3600;
const RETENTION_SECONDS = 30 * DAY;

const fixture = new EventsFixture();
const user = `role_events_${randomBytes(4).toString('hex')}`;
let owner: Database;
/** As the service's own role in production, which may not change tables. */
let database: Database;

beforeAll(async () => {
  await fixture.start();
  const password = 'secret';
  await prepareRoles(fixture.testDatabase.url, [{ service: 'events', user, password }]);
  const url = new URL(fixture.testDatabase.url);
  Object.assign(url, { username: user, password });
  const log = await createLog({ service: 'test', level: 'silent' });
  const options = { poolMax: 5, name: 'test', metrics: new Metrics(), log };
  database = openDatabase({ ...options, url: url.href });
  owner = openDatabase({ ...options, metrics: new Metrics(), url: fixture.testDatabase.url });
});
afterAll(async () => {
  await database.close();
  await owner.close();
  await databaseRows(fixture.testDatabase.url, `DROP OWNED BY ${user}`);
  await databaseRows(fixture.testDatabase.url, `DROP ROLE ${user}`);
  await fixture.stop();
});

async function newPartitions(): Promise<Partitions> {
  const telemetry = new EventsTelemetry(new Metrics(), await createLog({ service: 'test', level: 'silent' }));
  const tables = [{ name: 'log', seconds: RETENTION_SECONDS, beforeDrop: forgetDays }];
  return new Partitions({ database, tables, telemetry, lease: { isHeld: true } });
}

const dayOf = async (days: number): Promise<string> => {
  const text = `SELECT ((now() AT TIME ZONE 'UTC')::date + $1::int)::text AS day`;
  return (await owner.query<{ day: string }>(text, [days]))[0]?.day ?? '';
};
const nameOf = async (days: number) => `log_${(await dayOf(days)).replaceAll('-', '')}`;
const partitions = async () =>
  (
    await owner.query<{ name: string }>(
      `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
       WHERE inhparent = 'events.log'::regclass ORDER BY relname`,
    )
  ).map(({ name }) => name);
const dropAll = async () => {
  for (const name of await partitions()) await owner.query(`DROP TABLE events.${name}`);
};

beforeEach(dropAll);

test('partitions are created for today and the next seven days, by several processes at once', async () => {
  const processes = await Promise.all([newPartitions(), newPartitions(), newPartitions()]);
  expect(await Promise.all(processes.map((process) => process.sweep()))).toEqual([true, true, true]);
  expect(await partitions()).toEqual(await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(nameOf)));
});

test('an event whose day has no partition is stored, by several calls at once', async () => {
  const guilds = Array.from({ length: 8 }, newGuild);
  await Promise.all(guilds.map((guildId) => fixture.append(guildId, recordedFrom(1, 2))));
  expect(await partitions()).toEqual([await nameOf(0)]);
  for (const guildId of guilds) expect(await fixture.read(guildId)).toHaveLength(2);
});

test('sessions that create a missing partition again and again at once never fail', async () => {
  const missing = await dayOf(30);
  const sessions = Array.from({ length: 4 }, () => new Client({ connectionString: fixture.testDatabase.url }));
  try {
    await Promise.all(sessions.map((session) => session.connect()));
    // The sessions have looked for the partition before, so that each has cached that it does not exist.
    const text = `SELECT events.create_partition('log', $1::date) AS created WHERE to_regclass($2) IS NULL`;
    for (let round = 0; round < 50; round++) {
      const name = `events.${await nameOf(30)}`;
      const results = await Promise.all(sessions.map((session) => session.query(text, [missing, name])));
      const created = results.flatMap(({ rows }) => rows.map((row) => row.created));
      expect(created.filter(Boolean)).toHaveLength(1);
      await owner.query(`DROP TABLE ${name}`);
    }
  } finally {
    await Promise.all(sessions.map((session) => session.end()));
  }
});

test('after the clock was set back, events keep their order on the later day', async () => {
  const guildId = newGuild();
  await fixture.append(guildId, recordedFrom(1, 2));
  const later = await dayOf(20);
  await owner.query(`SELECT events.create_partition('log', $1::date)`, [later]);
  await owner.query('UPDATE events.counters SET day = $2 WHERE guild_id = $1', [guildId, later]);
  await fixture.append(guildId, recordedFrom(3, 2));
  await owner.query(`DROP TABLE events.${await nameOf(20)}`);
  await fixture.append(guildId, recordedFrom(5, 2));
  expect(await partitions()).toEqual([await nameOf(0), await nameOf(20)]);
  expect((await fixture.read(guildId, 4)).map(({ seq }) => seq)).toEqual([5, 6]);
});

describe('expired partitions', () => {
  /** Stores two events that are some days old. */
  async function storeOld(guildId: string, days: number): Promise<void> {
    const day = await dayOf(-days);
    await owner.query(`SELECT events.create_partition('log', $1::date)`, [day]);
    await fixture.append(guildId, recordedFrom(1, 2));
    await owner.query('UPDATE events.log SET day = $2 WHERE guild_id = $1', [guildId, day]);
    await owner.query('UPDATE events.days SET day = $2 WHERE guild_id = $1', [guildId, day]);
  }

  test('are dropped as a whole, and their events are gone', async () => {
    const [expired, kept] = [newGuild(), newGuild()];
    await storeOld(expired, 31);
    await storeOld(kept, 29);
    await fixture.append(expired, recordedFrom(3, 1));
    expect(await (await newPartitions()).sweep()).toBe(true);
    expect(await partitions()).not.toContain(await nameOf(-31));
    expect(await partitions()).toContain(await nameOf(-29));
    expect((await fixture.list(expired, '?after=1')).body.details).toMatchObject({ oldest_seq: 3, newest_seq: 3 });
    expect((await fixture.read(expired)).map(({ seq }) => seq)).toEqual([3]);
    expect((await fixture.read(kept)).map(({ seq }) => seq)).toEqual([1, 2]);
  });

  test('that are in use are dropped later, and block no append meanwhile', async () => {
    const guildId = newGuild();
    await storeOld(guildId, 40);
    const reader = new Client({ connectionString: fixture.testDatabase.url });
    await reader.connect();
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM events.log');
    const sweeping = (await newPartitions()).sweep();
    const started = performance.now();
    for (let number = 3; number < 13; number++) await fixture.append(guildId, recordedFrom(number, 1));
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(await sweeping).toBe(false);
    expect(await partitions()).toContain(await nameOf(-40));
    await reader.query('COMMIT');
    await reader.end();
    expect(await (await newPartitions()).sweep()).toBe(true);
    expect(await partitions()).not.toContain(await nameOf(-40));
  });
});

test.each([
  ['drops a partition', "SELECT events.drop_partition('log', 'infinity')"],
  ['creates a partition of another table', "SELECT events.create_partition('counters', '2026-01-01')"],
  ['creates a partition with another name', `SELECT events.create_partition('log; DROP TABLE x', '2026-01-01')`],
])('the role of the service never %s that holds current events or is no part of the log', async (_, statement) => {
  await fixture.append(newGuild(), recordedFrom(1, 1));
  const before = await partitions();
  const fault = await database.query(statement).then(() => 'none', String);
  expect(fault).toMatch(/^none$|is not a partitioned table/);
  expect(await partitions()).toEqual(before);
});
