import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEPLOYABLES } from '#local/processes.ts';
import { amount, withinBound } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { createTestDatabase, type TestDatabase } from '../postgres/database.ts';
import { testRedisUrl } from '../redis/database.ts';
import { Deployment } from './deployment.ts';
import { IDLE_MS, type Load, measureCapacity, startLoad } from './load.ts';
import { mixedRequests, REQUEST_KINDS } from './mixed-requests.ts';

/** Enough guilds that none reaches its own limit. */
const GUILDS = Array.from({ length: amount(20, 100) }, (_, index) => `90000000000000${index + 1000}`);
/** Requests per second. */
const RATE = amount(40, 200);
/** The load is at most this share of the requests per second that the machine can answer. The long form needs a fast machine. */
const LOAD_SHARE = amount(0.25, 1);
const DRAIN_DELAY_SECONDS = (2 * IDLE_MS) / 1_000;

let database: TestDatabase;
let deployment: Deployment;

beforeAll(async () => {
  database = await createTestDatabase();
  // A high call budget for the chat platform, because a fifth of these requests needs it.
  const environment = { DRAIN_DELAY_SECONDS: String(DRAIN_DELAY_SECONDS), CHAT_GLOBAL_RPS: '1000' };
  const redisUrl = await testRedisUrl();
  deployment = new Deployment({ databaseUrl: database.url, redisUrl, replicas: 2, guilds: GUILDS, environment });
  await deployment.start();
}, 300_000);

afterAll(async () => {
  await deployment?.stop();
  await database?.drop();
}, 60_000);

const answered = ({ good }: Load) => [...good.values()].reduce((sum, count) => sum + count, 0);

test('a rolling restart of every deployable under load loses no request', { timeout: 600_000 }, async () => {
  const requests = mixedRequests(deployment.keys);
  const next = () => requests.next().value;
  // After this, both gateways have cached most keys, and all processes have compiled what these requests run.
  await measureCapacity(deployment.api, 2 * GUILDS.length * REQUEST_KINDS, next);
  const capacity = await measureCapacity(deployment.api, 2 * GUILDS.length * REQUEST_KINDS, next);
  // Processes that start need CPU too: an overloaded machine would lose requests without any restart.
  const load = startLoad(deployment.api, Math.min(RATE, capacity * LOAD_SHARE), next);
  const stops: string[] = [];
  for (const { name } of DEPLOYABLES) {
    // The long form restarts all; in the short form the other replica is recent enough.
    const old = deployment.replicasOf(name).slice(0, amount(1, 2));
    for (const replica of old) {
      await deployment.startReplica(name);
      const { exit, ms } = await deployment.terminate(replica);
      expect([name, exit, replica.output]).toEqual([name, { code: 0, signal: null }, expect.any(String)]);
      withinBound(`${name} stops, with a drain delay of ${DRAIN_DELAY_SECONDS} s`, ms, 25_000);
      stops.push(name);
    }
    expect(load.failed, `while ${name} was restarted:\n${deployment.errors()}`).toEqual([]);
  }
  const rate = load.rate();
  await load.stop();
  expect(load.failed, `at the end:\n${deployment.errors()}`).toEqual([]);
  printFigure(
    `requests lost by ${stops.length} restarts`,
    `0 of ${answered(load)}, at ${Math.round(rate)} a second of ${Math.round(capacity)}`,
  );
  expect([...load.good.keys()]).toHaveLength(REQUEST_KINDS);
});
