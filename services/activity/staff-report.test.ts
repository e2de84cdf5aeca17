import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock, unixSeconds } from '#kit/clock.ts';
import { encodeCursor } from '#kit/http/cursor.ts';
import { Erasure } from '#kit/personal-data/erasure.ts';
import { Retention } from '#kit/postgres/retention.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { readActivityConfig } from './config.ts';
import { erasureRules } from './erasure.ts';
import { ActivityFixture, newGuild, PLACE } from './fixture.ts';
import { retentionRules } from './service.ts';

const DAY = 86_400;
interface ReportPage {
  staff: { game_id: number }[];
  next_cursor: string | null;
}
const fixture = new ActivityFixture();
/** 2026-11-21 00:00 UTC, a Saturday, on which the clock of the fixture starts. */
const start = unixSeconds(fixture.clock.now());

beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const now = () => unixSeconds(fixture.clock.now());
const days = (from: number, to = from + DAY) => `?from=${from}&to=${to}`;
const report = (guildId: string, query: string) => fixture.get(`/guilds/${guildId}/staff/report${query}`, { guildId });

async function begin(guildId: string, gameId: number): Promise<string> {
  const body = { game_id: gameId, server_id: 's1', place_id: PLACE };
  return (await fixture.post('/staff/game/session/start', body, { guildId })).body.data.session_id;
}
const beat = (guildId: string, id: string, idle = 0) =>
  fixture.post(
    '/staff/game/heartbeat',
    { server_id: 's1', sessions: [{ session_id: id, idle_seconds: idle }] },
    { guildId },
  );
const end = (guildId: string, id: string) => fixture.post('/staff/game/session/end', { session_id: id }, { guildId });
async function log(guildId: string, gameId: number, type: string, at: number): Promise<void> {
  const body = { actor_game_id: gameId, action_type: type, action_id: randomUUID(), occurred_at: at };
  expect((await fixture.post('/staff/game/action', body, { guildId })).status).toBe(201);
}
/** Lets time pass with a heartbeat of the session every minute. */
async function work(guildId: string, id: string, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    await fixture.advance(60_000);
    expect((await beat(guildId, id, minute * 6)).body.data.active).toEqual([id]);
  }
}

test('a session over midnight of the time zone is split, and an open session counts up to its last heartbeat', async () => {
  const guildId = newGuild();
  // In Kathmandu (UTC+5:45) a day begins at 18:15 UTC.
  const midnight = Math.floor(now() / DAY) * DAY + DAY + 18 * 3600 + 15 * 60;
  await fixture.advance((midnight - 600 - now()) * 1000);
  const id = await begin(guildId, 7001);
  await work(guildId, id, 15);
  await log(guildId, 7001, 'kick', midnight - 1);
  await log(guildId, 7001, 'kick', midnight);
  await log(guildId, 7001, '__proto__', midnight);
  await fixture.advance(30_000);
  const query = `${days(midnight - DAY, midnight + DAY)}&tz=asia/kathmandu`;
  const [first, second] = [0, 1].map((day) =>
    new Date((midnight - DAY / 2 + day * DAY) * 1000).toISOString().slice(0, 10),
  );
  const counts = [
    { date: first, sessions: 1, seconds: 600, idle_seconds: 56, action_count: 1, actions: { kick: 1 } },
    {
      date: second,
      sessions: 0,
      seconds: 300,
      idle_seconds: 28,
      action_count: 2,
      actions: JSON.parse('{"kick":1,"__proto__":1}'),
    },
  ];
  const { status, body } = await report(guildId, query);
  expect([status, body.message]).toEqual([200, 'Staff report read']);
  expect(body.data).toEqual({
    interval: 'day',
    tz: 'Asia/Kathmandu',
    intervals: [
      { date: first, starts_at: midnight - DAY, ends_at: midnight },
      { date: second, starts_at: midnight, ends_at: midnight + DAY },
    ],
    staff: [{ game_id: 7001, intervals: counts }],
    next_cursor: null,
  });
  // The sweep ends it at its last heartbeat, so that the counts stay the same.
  await fixture.advance(200_000);
  await fixture.eventsOf(guildId, ['session.ended'], 1);
  expect((await report(guildId, query)).body.data.staff).toEqual(body.data.staff);
});

test('weeks begin on Monday, and the first and last interval are cut at a quarter of an hour', async () => {
  const guildId = newGuild();
  await log(guildId, 7001, 'kick', start - 1);
  await log(guildId, 7001, 'ban', start + 2 * DAY);
  await log(guildId, 7001, 'warn', start + 2 * DAY + 3 * 3600);
  const { data } = (await report(guildId, `${days(start - 100, start + 2 * DAY + 3600 - 1)}&interval=week`)).body;
  expect(data.intervals).toEqual([
    { date: '2026-11-16', starts_at: start - 900, ends_at: start + 2 * DAY },
    { date: '2026-11-23', starts_at: start + 2 * DAY, ends_at: start + 2 * DAY + 3600 },
  ]);
  const none = { sessions: 0, seconds: 0, idle_seconds: 0, action_count: 1 };
  expect(data.staff).toEqual([
    {
      game_id: 7001,
      intervals: [
        { date: '2026-11-16', ...none, actions: { kick: 1 } },
        { date: '2026-11-23', ...none, actions: { ban: 1 } },
      ],
    },
  ]);
});

test('pages continue where the last one ended, also if staff members are added in between', async () => {
  const guildId = newGuild();
  for (const gameId of [7003, 7001, 7009, 7005]) await log(guildId, gameId, 'kick', start + 60);
  // They were active only outside of the report, once on a day that it touches.
  await log(guildId, 7002, 'kick', start - DAY);
  await log(guildId, 7004, 'kick', start + DAY / 2);
  await log(newGuild(), 7006, 'kick', start + 60);
  const found: number[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = `${days(start, start + 3600)}&limit=2${cursor && `&cursor=${cursor}`}`;
    const { data }: { data: ReportPage } = (await report(guildId, query)).body;
    found.push(...data.staff.map(({ game_id: gameId }) => gameId));
    cursor = data.next_cursor;
    for (const gameId of [7000, 7007]) await log(guildId, gameId, 'kick', start + 60);
  }
  expect(found).toEqual([7001, 7003, 7005, 7007, 7009]);
});

test('concurrent actions and sessions of one staff member are all counted', async () => {
  const guildId = newGuild();
  const servers = Array.from({ length: 20 }, (_, n) => `s${n}`);
  const started = now();
  await Promise.all(
    servers.map(async (server) => {
      const body = { game_id: 7001, server_id: server, place_id: PLACE };
      const opened = await fixture.post('/staff/game/session/start', body, { guildId });
      await log(guildId, 7001, 'kick', started);
      expect((await end(guildId, opened.body.data.session_id)).status).toBe(200);
    }),
  );
  const [member] = (await report(guildId, days(started - DAY, started + DAY))).body.data.staff;
  const total = (field: string) =>
    member.intervals.reduce((sum: number, counts: Record<string, number>) => sum + (counts[field] ?? 0), 0);
  expect([total('sessions'), total('action_count')]).toEqual([20, 20]);
});

test('the 33rd and further types of actions on a day are only in the count of all actions', async () => {
  const guildId = newGuild();
  for (let n = 0; n < 34; n++) await log(guildId, 7001, `type ${n}`, start);
  const counts = (await report(guildId, days(start))).body.data.staff[0].intervals[0];
  expect([counts.action_count, Object.keys(counts.actions).length]).toEqual([34, 32]);
  const remove = (type: string) =>
    fixture.database.query('DELETE FROM activity.actions WHERE guild_id = $1 AND action_type = $2', [guildId, type]);
  await remove('type 33');
  await remove('type 0');
  await log(guildId, 7001, 'type 33', start);
  const after = (await report(guildId, days(start))).body.data.staff[0].intervals[0];
  expect([after.action_count, Object.keys(after.actions).length]).toEqual([33, 31]);
});

test.each([
  ['?to=1', ['query.from']],
  ['?from=1', ['query.to']],
  [
    '?from=x&to=-1&interval=month&tz=Mars/Base&limit=101',
    ['query.limit', 'query.from', 'query.to', 'query.interval', 'query.tz'],
  ],
  [`?from=0&to=${92 * DAY + 1}`, ['query.to']],
  ['?from=10&to=10', ['query.to']],
  ...['%2B05:30', '', 'UTC%00', '../UTC', 'x'.repeat(65)].map((tz) => [`?from=0&to=1&tz=${tz}`, ['query.tz']]),
])('the query %s is rejected with all faults', async (query, faults) => {
  const { status, body } = await report(newGuild(), String(query));
  expect([status, body.details.errors?.map(({ path }: { path: string }) => path)]).toEqual([400, faults]);
});

test('92 days are accepted, and an empty report has no staff', async () => {
  const { status, body } = await report(newGuild(), `?from=0&to=${92 * DAY}&tz=Europe/Berlin`);
  expect([status, body.data.staff, body.data.intervals.length]).toEqual([200, [], 93]);
});

test('a cursor of another report, or a made-up one, is rejected', async () => {
  const guildId = newGuild();
  for (const gameId of [7001, 7002]) await log(guildId, gameId, 'kick', start);
  const { next_cursor: cursor } = (await report(guildId, `${days(start)}&limit=1`)).body.data;
  const filters = { from: start, to: start + DAY, interval: 'day', tz: 'UTC' };
  const madeUp = encodeCursor({ route: 'staff report', guildId, filters }, 'x');
  for (const query of [
    `${days(start)}&cursor=${madeUp}`,
    `${days(start)}&cursor=x`,
    `${days(start)}&tz=Asia/Tokyo&cursor=${cursor}`,
    `${days(start)}&interval=week&cursor=${cursor}`,
    `${days(start + 1)}&cursor=${cursor}`,
  ]) {
    const { status, body } = await report(guildId, query);
    const fault = { path: 'query.cursor', message: 'is not a next_cursor of this list with these filters' };
    expect([query, status, body.details.errors]).toEqual([query, 400, [fault]]);
  }
});

test('what is erased or deleted by retention is no longer in the report', async () => {
  const guildId = newGuild();
  const logger = await createLog({ service: 'test', level: 'silent' });
  for (const gameId of [7001, 7002]) {
    const id = await begin(guildId, gameId);
    await work(guildId, id, 2);
    await end(guildId, id);
    await log(guildId, gameId, 'kick', now());
  }
  const today = days(now() - DAY, now() + DAY);
  const seen = async () => {
    const { staff } = (await report(guildId, today)).body.data;
    return staff.map(({ game_id: gameId }: { game_id: number }) => gameId);
  };
  expect(await seen()).toEqual([7001, 7002]);
  const erasure = new Erasure({ database: fixture.database, rules: erasureRules, log: logger });
  const { tables } = await erasure.eraseUser(guildId, { game: '7001' }, false);
  expect(tables).toContainEqual({ table: 'activity.staff_days', rows: 1 });
  expect(await seen()).toEqual([7002]);
  // What is logged after the days were erased stays counted when older actions are deleted.
  await log(guildId, 7002, 'ban', now() - 3600);
  await fixture.database.query('DELETE FROM activity.staff_days WHERE guild_id = $1', [guildId]);
  await log(guildId, 7002, 'warn', now() - 3600);
  await fixture.database.query(`DELETE FROM activity.actions WHERE guild_id = $1 AND action_type <> 'warn'`, [guildId]);
  await fixture.database.query('DELETE FROM activity.sessions WHERE guild_id = $1', [guildId]);
  const { staff } = (await report(guildId, today)).body.data;
  expect(staff[0].intervals[0]).toMatchObject({ sessions: 0, action_count: 1, actions: { warn: 1 } });
  const rules = retentionRules(readActivityConfig(fixture.environment()));
  const clock = new ManualClock(fixture.clock.now() + 401 * DAY * 1000);
  await new Retention({ database: fixture.database, rules, clock, log: logger }).sweep();
  expect(await seen()).toEqual([]);
  expect(await fixture.database.query('SELECT * FROM activity.staff_days')).toEqual([]);
});
