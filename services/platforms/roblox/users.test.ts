import { afterEach, beforeEach, expect, test } from 'vitest';
import { deadlineFor, PlatformsFixture } from '../fixture.ts';

const USER = { id: 7001, name: 'AdaBuilds' };

let fixture: PlatformsFixture;

beforeEach(async () => {
  fixture = await PlatformsFixture.start();
});
afterEach(() => fixture.stop());

const calls = async (): Promise<number> => (await fixture.game.calls())['GET /v1/users/:user'] ?? 0;
const fault = (given: Record<string, unknown>) => fixture.game.fault('/v1/users', given);
const robloxWithUsersUrl = (url: string) => fixture.roblox({ GAME_USERS_URL: url });

test('the name of a user is requested once an hour', async () => {
  const game = fixture.roblox();
  expect(await game.user(7001)).toEqual(USER);
  fixture.clock.advance(3_599_999);
  expect(await game.user(7001)).toEqual(USER);
  expect(await calls()).toBe(1);
  fixture.clock.advance(1);
  expect(await game.user(7001)).toEqual(USER);
  expect(await calls()).toBe(2);
});

test('concurrent callers for one user share one request', async () => {
  const game = fixture.roblox();
  const users = await Promise.all(Array.from({ length: 10 }, () => game.user(7001)));
  for (const user of users) expect(user).toEqual(USER);
  expect(await calls()).toBe(1);
});

test('an unknown user is null and not cached', async () => {
  const game = fixture.roblox();
  expect(await game.user(1)).toBeNull();
  expect(await game.user(1)).toBeNull();
  expect(await calls()).toBe(2);
});

test.each([
  ['responds with 500', { status: 500 }],
  ['responds with 503', { status: 503 }],
  ['responds with 403', { status: 403 }],
  ['has lost the route', { status: 404, body: { errors: [{ code: 0, message: 'NotFound' }] } }],
  ['sends another user', { status: 200, body: { id: 7002, name: 'Ben' } }],
  ['sends no name', { status: 200, body: { id: 7001 } }],
  ['sends a name with a NUL character', { status: 200, body: { id: 7001, name: 'Ada\u0000' } }],
  ['sends invalid JSON', { broken: true }],
  ['truncates the response', { truncate: true }],
  ['resets the connection', { reset: true }],
])('a platform that %s is a PLATFORM_ERROR once, and the next call succeeds', async (_what, given) => {
  const game = fixture.roblox();
  await fault({ ...given, times: 1 });
  await expect(game.user(7001)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  expect(await game.user(7001)).toEqual(USER);
});

test('a platform that refuses connections is a PLATFORM_ERROR', async () => {
  const stopped = await PlatformsFixture.start();
  await stopped.stop();
  await expect(robloxWithUsersUrl(stopped.game.url).user(7001)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test('a platform that is too slow, also in the middle of its response, is a TIMEOUT', async () => {
  const slow = { delay_ms: 10_000, times: 1 };
  fixture.deadlineMs = deadlineFor(slow);
  await fault(slow);
  await expect(fixture.roblox().user(7001)).rejects.toMatchObject({ code: 'TIMEOUT' });
  const url = await fixture.serve((_path, response) => response.writeHead(200).write('{"id": 7001,'));
  await expect(robloxWithUsersUrl(url).user(7001)).rejects.toMatchObject({ code: 'TIMEOUT' });
});

test('redirects are not followed, and responses above 1 MiB are errors', async () => {
  const url = await fixture.serve((path, response) => {
    if (path === '/v1/users/1') response.writeHead(302, { location: `${fixture.game.url}/v1/users/7001` }).end();
    else response.end(JSON.stringify({ id: 2, name: 'Ben', description: 'x'.repeat(1024 * 1024) }));
  });
  const game = robloxWithUsersUrl(url);
  await expect(game.user(1)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  await expect(game.user(2)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  expect(await calls()).toBe(0);
});

test('after a 429 the platform is not called until its Retry-After has passed', async () => {
  const game = fixture.roblox();
  await fault({ status: 429, retry_after: 30, times: 1 });
  await expect(game.user(7001)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 30 });
  fixture.clock.advance(29_500);
  await expect(game.user(7002)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  expect(await calls()).toBe(1);
  fixture.clock.advance(500);
  expect(await game.user(7001)).toEqual(USER);
});

test('Retry-After may be a date, or absent', async () => {
  const after = [new Date(fixture.clock.now() + 90_000).toUTCString(), undefined];
  const url = await fixture.serve((_path, response) => {
    const [retryAfter] = after.splice(0, 1);
    response.writeHead(429, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
  });
  const game = robloxWithUsersUrl(url);
  await expect(game.user(7001)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 90 });
  fixture.clock.advance(90_000);
  await expect(game.user(7001)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
});

test('a platform that keeps failing is not called for a while', async () => {
  const game = fixture.roblox();
  await fault({ status: 500 });
  for (let call = 0; call < 10; call++) {
    await expect(game.user(7001)).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  }
  await expect(game.user(7001)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  expect(await calls()).toBe(10);
});

test('the names of 150 users take two requests, and none for an hour; unknown users are left out', async () => {
  const game = fixture.roblox();
  const ids = Array.from({ length: 150 }, (_, index) => 6_950 + index);
  const users = await game.users(ids);
  expect([users.size, users.get(7001)]).toEqual([12, USER]);
  expect((await fixture.game.calls())['POST /v1/users']).toBe(2);
  await game.users([7001, 7002]);
  expect((await fixture.game.calls())['POST /v1/users']).toBe(2);
  fixture.clock.advance(3_600_000);
  expect((await game.users([7001])).get(7001)).toEqual(USER);
  expect((await fixture.game.calls())['POST /v1/users']).toBe(3);
});

test('a user is found by the whole name or a former name in any case', async () => {
  const game = fixture.roblox();
  expect(await game.userByName('adabuilds')).toEqual(USER);
  expect(await game.userByName('AdaDigs')).toEqual(USER);
  expect(await game.userByName('AdaBuild')).toBeNull();
  expect(await game.userByName('"}]🦈<')).toBeNull();
});

test.each([
  ['responds with 500', { status: 500 }],
  ['sends a name with a NUL character', { status: 200, body: { data: [{ id: 7001, name: 'Ada\u0000' }] } }],
  ['sends no list', { status: 200, body: {} }],
])('a platform that %s for names is a PLATFORM_ERROR', async (_what, given) => {
  await fixture.game.fault('/v1/user', given);
  await expect(fixture.roblox().users([7001])).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  await expect(fixture.roblox().userByName('AdaBuilds')).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});
