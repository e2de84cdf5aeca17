import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ActivityFixture, OTHER_GUILD, PLACE } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const unixNow = () => Math.floor(fixture.clock.now() / 1000);
const seconds = (count: number) => fixture.clock.advance(count * 1000);
const newUser = () => ++lastUser;
let lastUser = 1_000;

const start = (user: number, fields: object = {}, request: object = {}) =>
  fixture.post(
    '/staff/game/session/start',
    { game_id: user, game_username: 'AdaBuilds', place_id: PLACE, server_id: 'a', ...fields },
    request,
  );
const beat = (sessions: object[], fields: object = {}) =>
  fixture.post('/staff/game/heartbeat', { server_id: 'a', sessions, ...fields });
const end = (sessionId: string, fields: object = {}, request: object = {}) =>
  fixture.post('/staff/game/session/end', { session_id: sessionId, reason: 'left', ...fields }, request);

const startId = async (user = newUser()): Promise<string> => (await start(user)).body.data.session_id;

describe('starting', () => {
  test('is 201; for the same user on the same server the session is resumed with 200', async () => {
    const user = newUser();
    const first = await start(user);
    const data = { session_id: expect.stringMatching(UUID), started_at: unixNow(), resumed: false };
    expect(first.body).toEqual({ status: 'success', code: 201, message: 'Session started', data });
    seconds(100);
    const again = await start(user, { game_id: String(user) });
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Session resumed',
      data: { ...first.body.data, resumed: true },
    });
  });

  test('on another server starts another session', async () => {
    const user = newUser();
    const [one, two] = [await start(user), await start(user, { server_id: 'b' })];
    expect(two.status).toBe(201);
    expect(two.body.data.session_id).not.toBe(one.body.data.session_id);
  });

  test('8 times concurrently opens one session', async () => {
    const user = newUser();
    const responses = await Promise.all(Array.from({ length: 8 }, () => start(user)));
    expect(new Set(responses.map(({ body }) => body.data.session_id)).size).toBe(1);
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
  });

  test('again with the same Idempotency-Key returns the first response, also if that resumed a session', async () => {
    const user = newUser();
    await start(user);
    const [first, again] = [await start(user, {}, { key: 'k' }), await start(user, {}, { key: 'k' })];
    expect(again.body).toEqual(first.body);
    expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 200, 'true']);
  });

  test.each([
    ['game_id', { game_id: 'x' }, expect.stringContaining('must be a game ID')],
    ['server_id', { server_id: undefined }, 'is required'],
    ['place_id', { place_id: undefined }, 'is required'],
    ['game_username', { game_username: '' }, 'must have 1 to 50 characters'],
  ])('with a fault in %s is 400', async (field, fields, message) => {
    const { status, body } = await start(1, fields);
    expect([status, body.details.errors]).toEqual([400, [{ path: `body.${field}`, message }]]);
  });

  test('with an empty server ID, as in the editor, is 422', async () => {
    const { status, body } = await start(1, { server_id: '' });
    expect([status, body.details.code]).toEqual([422, 'NOT_APPLICABLE']);
  });
});

describe('a session heartbeat', () => {
  test('keeps sessions open; IDs that are unknown, malformed, ended or of another server are stale', async () => {
    const [open, ended] = [await startId(), await startId()];
    const elsewhere = (await start(newUser(), { server_id: 'b' })).body.data.session_id as string;
    await end(ended);
    const ids = [open.toUpperCase(), ended, elsewhere, randomUUID(), 'nonsense', '', 'a\nb', 'x'.repeat(1_000)];
    const { status, body } = await beat(ids.map((id) => ({ session_id: id, idle_seconds: 1.5 })));
    expect([status, body.message]).toEqual([200, 'Heartbeat received']);
    expect(body.data).toEqual({ active: [ids[0]], stale: ids.slice(1) });
  });

  test('stores the greatest total of idle seconds, also of repeated IDs', async () => {
    const id = await startId();
    await beat([{ session_id: id, idle_seconds: 20 }]);
    await beat([{ session_id: id, idle_seconds: 12 }, { session_id: id }]);
    expect((await end(id)).body.data.idle_seconds).toBe(20);
  });

  test('of the same 25 sessions in any order never causes a deadlock', async () => {
    const ids = await Promise.all(Array.from({ length: 25 }, () => startId()));
    const orders = Array.from({ length: 20 }, (_, n) => (n % 2 ? ids : ids.toReversed()));
    const responses = await Promise.all(orders.map((order) => beat(order.map((id) => ({ session_id: id })))));
    expect(new Set(responses.map(({ status, body }) => `${status} ${body.data?.active.length}`))).toEqual(
      new Set(['200 25']),
    );
  });

  test('of no sessions returns none, and of 26 is 400', async () => {
    expect((await beat([])).body.data).toEqual({ active: [], stale: [] });
    const { status, body } = await beat(Array.from({ length: 26 }, () => ({ session_id: randomUUID() })));
    const errors = [{ path: 'body.sessions', message: 'must hold at most 25' }];
    expect([status, body.details.errors]).toEqual([400, errors]);
    expect((await beat([{}])).body.details.errors).toEqual([
      { path: 'body.sessions[0].session_id', message: 'is required' },
    ]);
    expect((await beat(['nonsense' as unknown as object])).body.details.errors).toEqual([
      { path: 'body.sessions[0]', message: 'must be an object' },
    ]);
    expect((await beat([], { server_id: '' })).status).toBe(422);
  });
});

describe('times', () => {
  test('ending a session sets its end, and ending it again changes nothing', async () => {
    const id = await startId();
    const startedAt = unixNow();
    seconds(60);
    await beat([{ session_id: id, idle_seconds: 30 }]);
    seconds(45);
    const first = await end(id);
    const data = {
      session_id: id,
      started_at: startedAt,
      ended_at: startedAt + 105,
      duration_seconds: 105,
      idle_seconds: 30,
    };
    expect(first.body).toEqual({ status: 'success', code: 200, message: 'Session ended', data });
    seconds(1_000);
    expect((await end(id, { reason: 'again' })).body.data).toEqual(data);
  });

  test('a session without heartbeats ends at its last one, no matter when that is noticed', async () => {
    const id = await startId();
    const startedAt = unixNow();
    seconds(60);
    await beat([{ session_id: id, idle_seconds: 7 }]);
    seconds(180.001);
    expect((await beat([{ session_id: id, idle_seconds: 99 }])).body.data).toEqual({ active: [], stale: [id] });
    seconds(86_400);
    expect((await end(id)).body.data).toMatchObject({
      started_at: startedAt,
      ended_at: startedAt + 60,
      duration_seconds: 60,
      idle_seconds: 7,
    });
  });

  test('a heartbeat after exactly three intervals keeps the session open', async () => {
    const id = await startId();
    seconds(180);
    expect((await beat([{ session_id: id }])).body.data.active).toEqual([id]);
  });

  test('a user who returns after that starts a new session, and the end of the old one does not change', async () => {
    const user = newUser();
    const old = (await start(user)).body.data;
    seconds(181);
    const next = await start(user);
    expect([next.status, next.body.data.resumed]).toEqual([201, false]);
    expect((await end(old.session_id)).body.data).toMatchObject({ ended_at: old.started_at, duration_seconds: 0 });
    expect((await beat([{ session_id: next.body.data.session_id }])).body.data.stale).toEqual([]);
  });

  test('a restart of the process does not change times', async () => {
    const [lapsing, living] = [await startId(), await startId()];
    const startedAt = unixNow();
    seconds(60);
    await beat([{ session_id: lapsing }, { session_id: living }]);
    await fixture.activity.stop();
    seconds(170);
    fixture.activity = await fixture.startActivity();
    await beat([{ session_id: living }]);
    seconds(60);
    const ended = await Promise.all([lapsing, living].map((id) => end(id)));
    expect(ended.map(({ body }) => body.data.ended_at - startedAt)).toEqual([60, 290]);
  });

  test('8 concurrent requests to end a session return the same times', async () => {
    const id = await startId();
    seconds(10);
    const ended = await Promise.all(Array.from({ length: 8 }, () => end(id)));
    expect(new Set(ended.map(({ body }) => JSON.stringify(body.data))).size).toBe(1);
  });

  test('an unknown session and one of another guild are 404; a malformed ID is 400', async () => {
    const id = await startId();
    for (const response of [await end(randomUUID()), await end(id, {}, { guildId: OTHER_GUILD })]) {
      expect([response.status, response.body.details.code]).toEqual([404, 'NOT_FOUND']);
    }
    const { status, body } = await end('nonsense');
    const errors = [{ path: 'body.session_id', message: 'must be a UUID' }];
    expect([status, body.details.errors]).toEqual([400, errors]);
  });
});
