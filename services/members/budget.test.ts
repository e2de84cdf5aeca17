import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addressOf, listen } from '#kit/service/address.ts';
import { printFigure } from '#test/measure/figures.ts';
import { maxWithin, watchSecond } from '#test/measure/rates.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { GUILD } from './fixture.ts';
import { chatIdOf, DECK } from './fixtures/crew.ts';
import { JobsFixture } from './fixtures/jobs.ts';

const CALLS_PER_SECOND = 20;
const MEMBERS = 20;
/** The pause between requests, each of which makes two calls at most: they use a part of the budget. */
const EVERY_MS = 250;

const fixture = new JobsFixture();
const arrivals: number[] = [];
let ticking: NodeJS.Timeout;

/** A proxy in front of the chat platform that records the time of each call. */
const proxy = createServer((request, response) => {
  arrivals.push(performance.now());
  const { method = 'GET', url, headers } = request;
  const { host: _, connection: __, ...passed } = headers;
  const pass = async () => {
    const upstream = await fetch(fixture.chat.url + url, { method, headers: passed as Record<string, string> });
    response.writeHead(upstream.status, { 'content-type': 'application/json' });
    response.end(Buffer.from(await upstream.arrayBuffer()));
  };
  pass().catch(() => response.destroy());
});

beforeAll(async () => {
  await fixture.start();
  await fixture.members.stop();
  await listen(proxy, '127.0.0.1', 0);
  // The processes of this test use the real time.
  ticking = setInterval(() => fixture.clock.advance(Date.now() - fixture.clock.now()), 100);
});
afterAll(async () => {
  clearInterval(ticking);
  proxy.closeAllConnections();
  proxy.close();
  await fixture.stop();
});

test('two processes together never exceed the call budget in any second, and serve requests while a job runs', async () => {
  const environment = {
    CHAT_API_URL: `http://${addressOf(proxy)}/api/v10`,
    CHAT_GLOBAL_RPS: String(CALLS_PER_SECOND),
    REDIS_URL: await testRedisUrl(),
  };
  const both = [await fixture.startMembersProcess(environment), await fixture.startMembersProcess(environment)];
  await fixture.settle(MEMBERS);
  await fixture.bindRank(DECK, { min: 10 });
  const [one, other] = both.map(({ at }) => at);
  const response = await fixture.startJob({ at: one });
  const job = async () => (await fixture.getJob(response.body.data.job_id, { at: other })).body.data;
  const delays: number[] = [];
  const second = watchSecond();
  for (let member = 1; (await job()).state !== 'done'; member = (member % MEMBERS) + 1) {
    const started = performance.now();
    const path = `/guilds/${GUILD}/members/${chatIdOf(member)}`;
    const responses = await Promise.all([one, other].map((at) => fixture.get(path, { at })));
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    delays.push(performance.now() - started);
    // Callers have priority, so requests that used up the whole budget would leave no calls for the job.
    await pause(EVERY_MS);
  }
  expect((await job()).changed).toBe(MEMBERS);
  const most = maxWithin(second(), arrivals);
  const seconds = ((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)) / 1000;
  const longest = Math.max(...delays).toFixed(0);
  printFigure(
    'two processes share the calls of the chat platform',
    `${arrivals.length} in ${seconds.toFixed(1)} s, ${most} at most in one; ${delays.length} requests meanwhile, ${longest} ms at most`,
  );
  expect(most).toBeLessThanOrEqual(CALLS_PER_SECOND);
  expect(arrivals.length).toBeGreaterThan(2 * MEMBERS);
  expect(Math.max(...delays)).toBeLessThan(5_000);
  for (const { kill } of both) await kill();
  fixture.members = await fixture.startMembers();
}, 120_000);
