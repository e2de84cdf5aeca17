import { createServer, type ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Breakers } from '#kit/breaker.ts';
import { ManualClock } from '#kit/clock.ts';
import { addressOf, listen } from '#kit/health.ts';
import { Metrics } from '#kit/metrics.ts';
import { type Simulators, startSimulators } from '#local/simulators/main.ts';
import { Roblox } from './roblox.ts';

const USER = { id: 7001, name: 'AdaBuilds' };
const DEADLINE_MS = 300;

let simulators: Simulators;
let clock: ManualClock;
let breakers: Breakers;

beforeAll(async () => {
  simulators = await startSimulators();
});
afterAll(() => simulators.stop());

beforeEach(() => {
  clock = new ManualClock();
  breakers = new Breakers(new Metrics());
});
afterEach(async () => {
  breakers.stop();
  await control('DELETE', '/__faults');
  await control('DELETE', '/__calls');
});

const control = (method: string, path: string, body?: unknown) =>
  fetch(simulators.game + path, { method, body: body === undefined ? null : JSON.stringify(body) });
const fault = (given: Record<string, unknown>) => control('POST', '/__faults', { match: '/v1/users', ...given });
const calls = async (): Promise<number> => {
  const { calls } = (await (await control('GET', '/__calls')).json()) as { calls: Record<string, number> };
  return calls['GET /v1/users/:user'] ?? 0;
};
const roblox = (url = simulators.game) =>
  new Roblox({ config: { GAME_USERS_URL: url }, breakers, metrics: new Metrics(), clock, deadlineMs: DEADLINE_MS });

test('a user has its name, which is asked for once an hour', async () => {
  const game = roblox();
  expect(await game.user(7001)).toEqual(USER);
  clock.advance(3_599_999);
  expect(await game.user(7001)).toEqual(USER);
  expect(await calls()).toBe(1);
  clock.advance(1);
  expect(await game.user(7001)).toEqual(USER);
  expect(await calls()).toBe(2);
});

test('those who ask for one user at the same time share one call', async () => {
  const game = roblox();
  const users = await Promise.all(Array.from({ length: 10 }, () => game.user(7001)));
  for (const user of users) expect(user).toEqual(USER);
  expect(await calls()).toBe(1);
});

test('an unknown user is null, and asked for again', async () => {
  const game = roblox();
  expect(await game.user(1)).toBeNull();
  expect(await game.user(1)).toBeNull();
  expect(await calls()).toBe(2);
});

test.each([
  ['answers 500', { status: 500 }],
  ['answers 503', { status: 503 }],
  ['refuses', { status: 403 }],
  ['has lost the route', { status: 404, body: { errors: [{ code: 0, message: 'NotFound' }] } }],
  ['answers another user', { status: 200, body: { id: 7002, name: 'Ben' } }],
  ['answers without a name', { status: 200, body: { id: 7001 } }],
  ['answers broken JSON', { broken: true }],
  ['is cut off in the middle', { truncate: true }],
  ['cuts the connection', { reset: true }],
])('a platform that %s is a PLATFORM_ERROR, and forgotten the next time', async (_what, given) => {
  const game = roblox();
  await fault({ ...given, times: 1 });
  await expect(game.user(7001)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  expect(await game.user(7001)).toEqual(USER);
});

test('a platform that does not listen is a PLATFORM_ERROR', async () => {
  const gone = await startSimulators();
  await gone.stop();
  await expect(roblox(gone.game).user(7001)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test('a platform that is too slow, also in the middle of its answer, is a TIMEOUT', async () => {
  await fault({ delay_ms: 10_000, times: 1 });
  await expect(roblox().user(7001)).rejects.toMatchObject({ code: 'TIMEOUT' });
  const server = await serve((_path, response) => response.writeHead(200).write('{"id": 7001,'));
  await expect(roblox(server.url).user(7001)).rejects.toMatchObject({ code: 'TIMEOUT' });
  server.stop();
});

test('a redirect is not followed, and more than 1 MiB not read', async () => {
  const server = await serve((path, response) => {
    if (path === '/v1/users/1') response.writeHead(302, { location: `${simulators.game}/v1/users/7001` }).end();
    else response.end(JSON.stringify({ id: 2, name: 'Ben', description: 'x'.repeat(1024 * 1024) }));
  });
  const game = roblox(server.url);
  await expect(game.user(1)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  await expect(game.user(2)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  expect(await calls()).toBe(0);
  server.stop();
});

test('after a 429 the platform is not called before the time that it named', async () => {
  const game = roblox();
  await fault({ status: 429, retry_after: 30, times: 1 });
  await expect(game.user(7001)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 30 });
  clock.advance(29_500);
  await expect(game.user(7002)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  expect(await calls()).toBe(1);
  clock.advance(500);
  expect(await game.user(7001)).toEqual(USER);
});

test('a 429 may name a date, or nothing at all', async () => {
  const after = [new Date(clock.now() + 90_000).toUTCString(), undefined];
  const server = await serve((_path, response) => {
    const [named] = after.splice(0, 1);
    response.writeHead(429, named === undefined ? {} : { 'retry-after': named }).end();
  });
  const game = roblox(server.url);
  await expect(game.user(7001)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 90 });
  clock.advance(90_000);
  await expect(game.user(7001)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  server.stop();
});

test('a platform that keeps failing is not called for a while', async () => {
  const game = roblox();
  await fault({ status: 500 });
  for (let call = 0; call < 10; call++) {
    await expect(game.user(7001)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  }
  await expect(game.user(7001)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  expect(await calls()).toBe(10);
});

/** A server of the test's own, for what the simulator does not do. */
async function serve(answer: (path: string, response: ServerResponse) => void) {
  const server = createServer((request, response) => answer(request.url ?? '', response));
  await listen(server, '127.0.0.1', 0);
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://${addressOf(server)}`, stop };
}
