import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { type Database, type DatabaseOptions, openDatabase, prepared } from './pool.ts';

const log = pino({ level: 'silent' });
const UNAVAILABLE = expect.objectContaining({ code: 'UNAVAILABLE' });
let testDatabase: TestDatabase;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  const setup = open();
  await setup.query('CREATE TABLE public.boats (id bigint PRIMARY KEY, name text)');
  await setup.close();
  return () => testDatabase.drop();
});

function open(options: Pick<DatabaseOptions, 'mayPrepare' | 'maxPlanAgeMs'> = {}): Database {
  return openDatabase({ url: testDatabase.url, poolMax: 1, name: 'kit-test', metrics: new Metrics(), log, ...options });
}

const backend = async (on: Database) => (await on.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]?.pid;
const FIND_BOATS = prepared(
  `SELECT boat.* FROM unnest((SELECT $1::bigint[])) AS wanted (id)
   CROSS JOIN LATERAL (SELECT id, name FROM public.boats WHERE boats.id = wanted.id LIMIT 1) AS boat`,
);
const preparedOn = (on: Database) => on.query('SELECT statement, generic_plans AS plans FROM pg_prepared_statements');

test('each connection prepares a statement once and keeps its plan, even for short lists', async () => {
  const single = open();
  await single.query('INSERT INTO public.boats (id) VALUES (1)');
  for (let time = 0; time < 8; time++) expect(await single.query(FIND_BOATS, [[1]])).toEqual([{ id: 1, name: null }]);
  expect(await preparedOn(single)).toEqual([{ statement: FIND_BOATS.text, plans: 3 }]);
  await single.close();
});

test('with a transaction pooler statements are not prepared', async () => {
  const pooled = open({ mayPrepare: false });
  await pooled.query(FIND_BOATS, [[1]]);
  expect(await preparedOn(pooled)).toEqual([]);
  await pooled.close();
});

test.each([
  ['whose columns were changed', 'ALTER TABLE public.boats ALTER name TYPE varchar(9)'],
  ['that the session has deallocated', 'DEALLOCATE ALL'],
])('a statement %s fails once with UNAVAILABLE and is prepared again on another connection', async (_, change) => {
  const single = open();
  await single.query(FIND_BOATS, [[1]]);
  const before = await backend(single);
  await single.query(change);
  await expect(single.query(FIND_BOATS, [[1]])).rejects.toEqual(UNAVAILABLE);
  expect(await single.query(FIND_BOATS, [[2]])).toEqual([]);
  expect(await backend(single)).not.toBe(before);
  await single.close();
});

/** The stored plan of FIND_BOATS, which the connection has executed before. */
const storedPlan = async (on: Database) => {
  const lines = await on.query<{ 'QUERY PLAN': string }>(`EXPLAIN EXECUTE ${FIND_BOATS.name} ('{1}')`);
  return lines.map((line) => line['QUERY PLAN']).join('\n');
};

test('a plan that was made while a table was empty is replaced after the table has grown, before anything analyzes it', async () => {
  const single = open({ maxPlanAgeMs: 0 });
  await single.query('VACUUM ANALYZE public.boats');
  for (let time = 0; time < 8; time++) await single.query(FIND_BOATS, [[1]]);
  expect(await storedPlan(single)).toContain('Seq Scan on boats');
  await single.query('INSERT INTO public.boats (id) SELECT generate_series(1, 20000)');
  expect(await storedPlan(single)).toContain('Seq Scan on boats');
  await single.query(FIND_BOATS, [[1]]);
  expect(await storedPlan(single)).toContain('Index Scan using boats_pkey');
  await single.close();
});
