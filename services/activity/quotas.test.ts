import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { MAX_SERVER_STARTS_PER_DAY } from './domain/admission-counter.ts';
import { MAX_DELIVERIES_PER_DAY } from './domain/commands.ts';
import { MAX_SESSIONS_PER_DAY } from './domain/sessions.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const MAX = 5;
const DAY_MS = 24 * 3_600_000;

const fixture = new ActivityFixture();
let small: RunningService;
let other: RunningService;
beforeAll(async () => {
  await fixture.start();
  const environment = { MAX_STAFF_ACTIONS_PER_DAY: String(MAX) };
  [small, other] = await Promise.all([fixture.startActivity(environment), fixture.startActivity(environment)]);
});
afterAll(async () => {
  await Promise.all([small.stop(), other.stop()]);
  await fixture.stop();
});

const log = (
  guildId: string,
  actionId: string,
  { fields = {}, ...request }: { fields?: object; key?: string; at?: RunningService } = {},
) =>
  fixture.post(
    '/staff/game/action',
    { actor_game_id: 7001, action_type: 'kick', action_id: actionId, ...fields },
    { guildId, at: small, ...request },
  );
const stored = async (guildId: string) =>
  (
    await fixture.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM activity.actions WHERE guild_id = $1',
      [guildId],
    )
  )[0]?.count;

describe('details of a staff action', () => {
  test('of 4 KiB of JSON are stored, larger ones are 400', async () => {
    const guildId = newGuild();
    const details = (bytes: number) => ({ fields: { details: { x: 'x'.repeat(bytes - '{"x":""}'.length) } } });
    expect((await log(guildId, randomUUID(), details(4_096))).status).toBe(201);
    const { status, body } = await log(guildId, randomUUID(), details(4_097));
    expect([status, body.details]).toEqual([
      400,
      { code: 'INVALID_REQUEST', errors: [{ path: 'body.details', message: 'must have at most 4096 bytes as JSON' }] },
    ]);
    // The limit counts bytes, not characters.
    const wide = await log(guildId, randomUUID(), { fields: { details: { x: 'é'.repeat(2_100) } } });
    expect(wide.status).toBe(400);
    expect(await stored(guildId)).toBe(1);
  });
});

describe(`a guild with a maximum of ${MAX} staff actions a day`, () => {
  test('gets 409 for one more, and 200 for a repeat of a logged one', async () => {
    const guildId = newGuild();
    const ids = Array.from({ length: MAX }, () => randomUUID());
    for (const id of ids) expect((await log(guildId, id)).status).toBe(201);
    const rejected = await log(guildId, randomUUID());
    expect(rejected).toMatchObject({
      status: 409,
      body: {
        message: `The guild has logged ${MAX} staff actions today (UTC), which is the maximum`,
        details: { code: 'QUOTA_EXCEEDED', quota: 'staff_actions_per_day', limit: MAX },
      },
    });
    expect((await log(guildId, ids[0] ?? '')).status).toBe(200);
    expect(await stored(guildId)).toBe(MAX);
    expect((await log(newGuild(), randomUUID())).status).toBe(201);
  });

  test('can log again on the next day, even with the Idempotency-Key of a rejected request', async () => {
    const guildId = newGuild();
    for (let count = 0; count < MAX; count++) await log(guildId, randomUUID());
    const [actionId, key] = [randomUUID(), randomUUID()];
    expect((await log(guildId, actionId, { key })).status).toBe(409);
    await fixture.advance(DAY_MS - (fixture.clock.now() % DAY_MS) - 1);
    expect((await log(guildId, actionId, { key })).status).toBe(409);
    await fixture.advance(1);
    expect((await log(guildId, actionId, { key })).status).toBe(201);
  });

  test('logs exactly the maximum of concurrent and partly repeated actions in several processes', async () => {
    const guildId = newGuild();
    const ids = Array.from({ length: 2 * MAX }, () => randomUUID());
    const responses = await Promise.all(
      [...ids, ...ids].map((id, n) => log(guildId, id, { at: n % 2 ? small : other })),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(MAX);
    expect(await stored(guildId)).toBe(MAX);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 201, 409]));
  });

  test('does not use up its quota with repeats of a logged action', async () => {
    const guildId = newGuild();
    const id = randomUUID();
    for (let count = 0; count < 2 * MAX; count++) await log(guildId, id);
    for (let count = 1; count < MAX; count++) expect((await log(guildId, randomUUID())).status).toBe(201);
    expect((await log(guildId, randomUUID())).status).toBe(409);
  });
});

test('a guild can start a limited number of sessions a day, and can still resume open ones', async () => {
  const guildId = newGuild();
  const start = (gameId: number) =>
    fixture.post('/staff/game/session/start', { game_id: gameId, place_id: 1, server_id: 'a' }, { guildId });
  expect((await start(1)).status).toBe(201);
  await fixture.database.query(
    `UPDATE activity.daily_counts SET added = $2 WHERE guild_id = $1 AND kind = 'sessions'`,
    [guildId, MAX_SESSIONS_PER_DAY],
  );
  const rejected = await start(2);
  expect([rejected.status, rejected.body.details.code]).toEqual([409, 'CONFLICT']);
  expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await start(1)).body.data.resumed).toBe(true);
});

describe('a guild whose servers have started as often as they may in a day', () => {
  /** Starts the servers `live` and `last`; only one more may start. */
  const nearlyUsedUp = async () => {
    const guildId = newGuild();
    for (const server of ['live', 'last']) await fixture.beat(server, {}, { guildId });
    expect(await startsOf(guildId)).toBe(2);
    await fixture.database.query(
      `UPDATE activity.daily_counts SET added = $2 WHERE guild_id = $1 AND kind = 'server_starts'`,
      [guildId, MAX_SERVER_STARTS_PER_DAY - 1],
    );
    return guildId;
  };
  const startsOf = async (guildId: string) =>
    (
      await fixture.database.query<{ added: number }>(
        `SELECT added FROM activity.daily_counts WHERE guild_id = $1 AND kind = 'server_starts'`,
        [guildId],
      )
    )[0]?.added;
  const statusOf = async (server: string, guildId: string, fields = {}) =>
    (await fixture.beat(server, fields, { guildId })).status;

  test('gets 409 for one more until the next day, while its live servers continue and end', async () => {
    const guildId = await nearlyUsedUp();
    expect(await statusOf('new', guildId)).toBe(200);
    const rejected = await fixture.beat('more', {}, { guildId });
    expect(rejected).toMatchObject({
      status: 409,
      body: {
        message: `${MAX_SERVER_STARTS_PER_DAY} servers of the guild have started today (UTC), which is the maximum`,
        details: { code: 'CONFLICT' },
      },
    });
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await statusOf('live', guildId)).toBe(200);
    expect(await statusOf('last', guildId, { final: true })).toBe(200);
    expect(await statusOf('last', guildId)).toBe(409);
    expect(await statusOf('other', newGuild())).toBe(200);
    await fixture.advance(DAY_MS - (fixture.clock.now() % DAY_MS));
    expect(await statusOf('more', guildId)).toBe(200);
  });

  test('records no more events, however many servers start at once and end', async () => {
    const guildId = await nearlyUsedUp();
    const servers = Array.from({ length: 20 }, (_, n) => `s${n}`);
    const statuses = await Promise.all(servers.map((server) => statusOf(server, guildId)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    await Promise.all(servers.map((server) => statusOf(server, guildId, { final: true })));
    await Promise.all(servers.map((server) => statusOf(server, guildId)));
    const types = (await fixture.events(guildId)).map(({ type }) => type);
    expect(types).toEqual(['server.online', 'server.online', 'server.online', 'server.offline']);
    expect(await startsOf(guildId)).toBe(MAX_SERVER_STARTS_PER_DAY);
  });
});

test('commands of a guild are for a limited number of servers a day, except for decisions of moderation', async () => {
  const guildId = newGuild();
  for (const server of ['a', 'b', 'c']) await fixture.beat(server, {}, { guildId });
  const send = (recipients: object) =>
    fixture.post(
      `/guilds/${guildId}/commands`,
      { type: 'broadcast', payload: { text: 'Hello' }, ...recipients },
      { guildId },
    );
  expect((await send({ all: true })).status).toBe(201);
  await fixture.database.query(
    `UPDATE activity.daily_counts SET added = $2 - added WHERE guild_id = $1 AND kind = 'deliveries'`,
    [guildId, MAX_DELIVERIES_PER_DAY],
  );
  // Both are for three servers, and only three are left.
  const responses = await Promise.all([send({ all: true }), send({ all: true })]);
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
  const rejected = responses.find(({ status }) => status === 409);
  expect(rejected?.body.details.code).toBe('CONFLICT');
  expect(Number(rejected?.headers.get('retry-after'))).toBeGreaterThan(0);
  await expect(fixture.enqueue({ guildId })).rejects.toThrow('a day (UTC)');
  expect((await send({ server_id: 'a' })).status).toBe(201);
  expect(await fixture.deliver({ guildId })).toBe(3);
  // What was rejected is not stored, and what was accepted reaches the servers.
  expect((await fixture.take('a', '', { guildId })).map(({ type }) => type)).toEqual([
    'broadcast',
    'broadcast',
    'broadcast',
    'ban',
  ]);
  await fixture.advance(DAY_MS - (fixture.clock.now() % DAY_MS));
  await fixture.beat('a', {}, { guildId });
  expect((await send({ all: true })).status).toBe(201);
});
