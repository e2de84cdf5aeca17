import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount } from '../measure/bounds.ts';
import { scrapePage } from '../measure/exposition.ts';
import { printFigure, round } from '../measure/figures.ts';
import { createTestDatabase, type TestDatabase } from '../postgres/database.ts';
import { testRedisUrl } from '../redis/database.ts';
import { Deployment, type Replica } from './deployment.ts';
import { type LoadRequest, startLoad } from './load.ts';

/** Enough guilds that none reaches its own limit. */
const GUILDS = Array.from({ length: amount(150, 300) }, (_, index) => `90000000000000${index + 2000}`);
/** Requests per second. */
const RATE = amount(100, 200);
/** In milliseconds. So many requests are in flight together that a gateway has several connections to distribute. */
const TICK_MS = 200;
/** After this time a new replica must receive its share. */
const SHARE_MS = 30_000;
/** The share is measured over this part of the time. */
const MEASURED_MS = 8_000;
/** Relative to a fair third. */
const MIN_SHARE = 2 / 3;

let database: TestDatabase;
let deployment: Deployment;

beforeAll(async () => {
  database = await createTestDatabase();
  const redisUrl = await testRedisUrl();
  deployment = new Deployment({ databaseUrl: database.url, redisUrl, replicas: 2, guilds: GUILDS });
  await deployment.start();
}, 300_000);

afterAll(async () => {
  await deployment?.stop();
  await database?.drop();
}, 60_000);

let players = 1_000_000;

/** GETs and other requests use different upstream connections. */
function* requests(): Generator<LoadRequest, never> {
  for (let turn = 0; ; turn++) {
    const guild = GUILDS[turn % GUILDS.length] as string;
    const player = ++players;
    const key = deployment.keys.get(guild) as string;
    yield { name: 'GET', method: 'GET', path: `/lookup/game/${player}`, status: 404, guild, key };
    const body = { game_id: player };
    yield { name: 'POST', method: 'POST', path: '/reverse', status: 404, guild, key, body };
  }
}

/** Requests that the replica has responded to. */
async function responses({ ports }: Replica): Promise<number> {
  return (await scrapePage(`127.0.0.1:${ports.admin}`)).sum('http_requests_total') ?? 0;
}

test('a third replica receives its share of requests within 30 s, and no request is lost', {
  timeout: 180_000,
}, async () => {
  const stream = requests();
  const load = startLoad(deployment.api, RATE, () => stream.next().value, TICK_MS);
  await expect.poll(() => load.good.get('POST') ?? 0, { timeout: 60_000 }).toBeGreaterThan(10 * RATE);
  const third = await deployment.startReplica('lookup');
  const started = performance.now();
  await wait(SHARE_MS - MEASURED_MS);
  const replicas = deployment.replicasOf('lookup');
  const before = await Promise.all(replicas.map(responses));
  await wait(SHARE_MS - (performance.now() - started));
  const after = await Promise.all(replicas.map(responses));
  const counts = after.map((count, index) => count - (before[index] ?? 0));
  const own = counts[replicas.indexOf(third)] ?? 0;
  const share = own / counts.reduce((sum, count) => sum + count, 0);
  printFigure('share of a third replica after 30 s', `${round(100 * share)} %, at ${round(load.rate())} a second`);
  await load.stop();
  expect(load.failed, `failed:\n${deployment.errors()}`).toEqual([]);
  expect(replicas).toHaveLength(3);
  expect(share).toBeGreaterThanOrEqual(MIN_SHARE / 3);
});
