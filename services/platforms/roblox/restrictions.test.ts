import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectRedis, type RedisConnection } from '#kit/redis/client.ts';
import { maxWithin, watchSecond } from '#test/measure/rates.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { PlatformsFixture } from '../fixture.ts';
import { RequestRejected, SubjectUnknown } from './restrictions.ts';

let fixture: PlatformsFixture;
let redis: RedisConnection;
beforeAll(async () => {
  fixture = await PlatformsFixture.start();
  redis = connectRedis(await testRedisUrl(), { name: 'test', log: pino({ level: 'silent' }) });
  await redis.start();
});
afterAll(async () => {
  await redis.stop();
  await fixture.stop();
});

const UNIVERSE = 30_001;
const CHANGE = {
  isActive: true,
  durationSeconds: 3_600,
  privateReason: 'Case 7',
  displayReason: 'Cheats',
  excludeAltAccounts: true,
};
let writes = 0;
const newWrite = () => ({ key: `write-${++writes}`, firstSent: new Date() });
const subject = (userId: number, placeId: number | null = null) => ({ universeId: UNIVERSE, placeId, userId });

test('a restriction is written, read and listed, also that of a place alone', async () => {
  const restrictions = fixture.restrictions();
  expect(await restrictions.find(subject(1))).toMatchObject({ isActive: false, startedAt: null });
  const written = await restrictions.write(subject(1), CHANGE, newWrite());
  const { excludeAltAccounts: _, ...terms } = CHANGE;
  expect(written).toEqual({ ...terms, startedAt: expect.any(Date) });
  expect(await restrictions.find(subject(1))).toEqual(written);
  // The place shows the restriction of its universe, which is not its own.
  expect(await restrictions.find(subject(1, 41))).toMatchObject({ isActive: false, startedAt: null });
  await restrictions.write(subject(2, 41), { ...CHANGE, durationSeconds: null }, newWrite());
  expect(await restrictions.find(subject(2, 41))).toMatchObject({ isActive: true, durationSeconds: null });
  expect(await restrictions.find(subject(2))).toMatchObject({ isActive: false });
  expect(await restrictions.list(UNIVERSE, null, undefined)).toEqual({
    items: [{ userId: 1, placeId: null, ...written }],
    next: undefined,
  });
  expect((await restrictions.list(UNIVERSE, 41, undefined)).items).toMatchObject([{ userId: 2, placeId: 41 }]);
  const { items } = await restrictions.logs(UNIVERSE, undefined);
  expect(items).toMatchObject([
    { userId: 2, placeId: 41, isActive: true, durationSeconds: null, createdAt: expect.any(Date) },
    { userId: 1, placeId: null, isActive: true, durationSeconds: 3_600 },
  ]);
});

test('a write that is repeated with its key has its effect once', async () => {
  const restrictions = fixture.restrictions();
  const write = newWrite();
  const first = await restrictions.write(subject(3), CHANGE, write);
  for (let repeats = 0; repeats < 3; repeats++) {
    expect(await restrictions.write(subject(3), CHANGE, write)).toEqual(first);
  }
});

test('lists are read page by page', async () => {
  const restrictions = fixture.restrictions();
  for (let user = 1; user <= 101; user++) {
    const change = { universe: 30_002, user, private_reason: 'Case 7' };
    await fetch(`${fixture.game.url}/__restrictions`, { method: 'POST', body: JSON.stringify(change) });
  }
  const first = await restrictions.list(30_002, null, undefined);
  const second = await restrictions.list(30_002, null, first.next);
  expect([first.items.length, second.items.length, second.next]).toEqual([100, 1, undefined]);
  const log = await restrictions.logs(30_002, undefined);
  expect((await restrictions.logs(30_002, log.next)).items).toHaveLength(1);
});

test.each([401, 403])('a key that lacks the permission (%i) is reported with what to do', async (status) => {
  const restrictions = fixture.restrictions();
  await fixture.game.fault('/user-restrictions/5', { status, times: 1 });
  await expect(restrictions.find(subject(5))).rejects.toMatchObject({
    code: 'NOT_APPLICABLE',
    message: expect.stringContaining('universe.user-restriction:read'),
  });
});

test('a place or user that the platform does not know is told from other failures', async () => {
  const restrictions = fixture.restrictions();
  await fixture.game.fault('/places/99/', { status: 404, body: { code: 'NOT_FOUND' }, times: 1 });
  await expect(restrictions.find(subject(5, 99))).rejects.toBeInstanceOf(SubjectUnknown);
  await fixture.game.fault('/user-restrictions/5', { status: 503, times: 1 });
  await expect(restrictions.find(subject(5))).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test.each([400, 422])('a rejection with %i says nothing about the place or the user', async (status) => {
  const restrictions = fixture.restrictions();
  const body = { code: 'INVALID_ARGUMENT', message: 'duration is wrong' };
  await fixture.game.fault('/places/99/', { status, body, times: 1 });
  const finding = restrictions.find(subject(5, 99)).catch((error: unknown) => error);
  const error = await finding;
  expect(error).toBeInstanceOf(RequestRejected);
  expect(error).toMatchObject({
    code: 'PLATFORM_ERROR',
    message: expect.stringMatching(`${status}: duration is wrong`),
  });
});

test('a restriction that a place inherits from its universe is not one of the place', async () => {
  const restrictions = fixture.restrictions();
  const [userId, placeId] = [8, 42];
  const inherited = { active: true, inherited: true, startTime: new Date().toISOString(), privateReason: 'Universe' };
  const entry = { path: `universes/${UNIVERSE}/places/42/user-restrictions/8`, gameJoinRestriction: inherited };
  await fixture.game.fault('/places/42/user-restrictions?', {
    status: 200,
    body: { userRestrictions: [entry] },
    times: 1,
  });
  expect((await restrictions.list(UNIVERSE, placeId, undefined)).items).toEqual([]);
  await fixture.game.fault('/places/42/user-restrictions/8', { status: 200, body: entry, times: 2 });
  expect(await restrictions.find(subject(userId, placeId))).toMatchObject({ isActive: false, privateReason: '' });
  const released = await restrictions.write(subject(userId, placeId), { ...CHANGE, isActive: false }, newWrite());
  expect(released).toMatchObject({ isActive: false });
});

test('a 429 pauses the writes in that universe alone', async () => {
  const restrictions = fixture.restrictions();
  for (let count = 0; count < 2; count++) await restrictions.write(subject(6), CHANGE, newWrite());
  await expect(restrictions.write(subject(6), CHANGE, newWrite())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(restrictions.write(subject(7), CHANGE, newWrite())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await restrictions.find(subject(7))).toMatchObject({ isActive: false });
  const other = { ...subject(7), universeId: 30_003 };
  expect(await restrictions.write(other, CHANGE, newWrite())).toMatchObject({ isActive: true });
});

test('two clients together write at most ten times a second in a universe, and other universes do not wait', async () => {
  fixture.redis = redis.client;
  const clients = [fixture.restrictions(), fixture.restrictions()];
  const second = watchSecond();
  const times: number[] = [];
  const writing = Array.from({ length: 24 }, async (_, user) => {
    await clients[user % 2]?.write({ ...subject(100 + user), universeId: 30_004 }, CHANGE, newWrite());
    times.push(performance.now());
  });
  await clients[0]?.write({ ...subject(1), universeId: 30_005 }, CHANGE, newWrite());
  const elsewhere = times.length;
  await Promise.all(writing);
  expect(elsewhere).toBeLessThan(24);
  expect(maxWithin(second(), times)).toBeLessThanOrEqual(10);
});
