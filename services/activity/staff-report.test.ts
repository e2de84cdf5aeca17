import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { encodeCursor } from '#kit/http/cursor.ts';
import { ActivityFixture, newGuild, PLACE } from './fixture.ts';
import { MAX_CHECKED_STAFF } from './store/staff-totals.ts';

const fixture = new ActivityFixture();
const MINUTE = 60_000;
const DAY = 86_400;
/** The clock starts here; the report is about this day and the next. */
const MIDNIGHT = Date.UTC(2026, 10, 21) / 1000;
const RANGE = `?from=${MIDNIGHT}&to=${MIDNIGHT + 3 * DAY}`;

beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const now = () => unixSeconds(fixture.clock.now());
const report = (guildId: string, query = RANGE) => fixture.get(`/guilds/${guildId}/staff/report${query}`, { guildId });
const staffOf = async (guildId: string, query = RANGE) => (await report(guildId, query)).body.data.staff;
async function start(guildId: string, gameId: number, server = 's1'): Promise<string> {
  const body = { game_id: gameId, server_id: server, place_id: PLACE };
  return (await fixture.post('/staff/game/session/start', body, { guildId })).body.data.session_id;
}
const end = (guildId: string, id: string) => fixture.post('/staff/game/session/end', { session_id: id }, { guildId });
const beat = (guildId: string, id: string, idle: number) =>
  fixture.post(
    '/staff/game/heartbeat',
    { server_id: 's1', sessions: [{ session_id: id, idle_seconds: idle }] },
    { guildId },
  );
const log = (guildId: string, fields: object = {}) =>
  fixture.post(
    '/staff/game/action',
    { actor_game_id: 7001, action_type: 'kick', action_id: randomUUID(), ...fields },
    { guildId },
  );

test('a session over midnight is split between both days, and actions count by type', async () => {
  const guildId = newGuild();
  // To two minutes before the next midnight.
  await fixture.advance((DAY - (now() % DAY)) * 1000 - 2 * MINUTE);
  const first = now() - (now() % DAY);
  const session = await start(guildId, 7001);
  await fixture.advance(2 * MINUTE);
  await log(guildId);
  await log(guildId, { occurred_at: now() - 1 });
  await log(guildId, { action_type: 'note', occurred_at: now() + DAY });
  await beat(guildId, session, 50);
  expect((await staffOf(guildId)).map(({ intervals }: { intervals: object[] }) => intervals.length)).toEqual([2]);
  await fixture.advance(2 * MINUTE);
  await end(guildId, session);
  const range = `?from=${first}&to=${first + DAY}&tz=UTC&interval=day`;
  expect((await report(guildId, range)).body).toEqual({
    status: 'success',
    code: 200,
    message: 'Staff report read',
    data: {
      interval: 'day',
      tz: 'UTC',
      from: first,
      to: first + 2 * DAY,
      staff: [
        {
          game_id: 7001,
          intervals: [
            {
              start: first,
              end: first + DAY,
              sessions: 1,
              seconds: 120,
              idle_seconds: 25,
              actions: { kick: 1 },
              other_actions: 0,
            },
            {
              start: first + DAY,
              end: first + 2 * DAY,
              sessions: 0,
              seconds: 120,
              idle_seconds: 25,
              actions: { kick: 1, note: 1 },
              other_actions: 0,
            },
          ],
        },
      ],
      next_cursor: null,
    },
  });
  const [week] = (await staffOf(guildId, range.replace('day', 'week')))[0].intervals;
  expect(week.seconds).toBeGreaterThanOrEqual(120);
});

test('a session and an action count once, however the session ends and however often both are repeated', async () => {
  const guildId = newGuild();
  const ended = await start(guildId, 7001);
  await fixture.advance(10_000);
  await end(guildId, ended);
  await end(guildId, ended);
  // Ends because its beats are missing: found by the next start, and by the sweep.
  await start(guildId, 7002);
  await start(guildId, 7003);
  await fixture.advance(20 * MINUTE);
  await start(guildId, 7002);
  const id = randomUUID();
  await log(guildId, { action_id: id });
  await log(guildId, { action_id: id });
  await fixture.eventsOf(guildId, ['session.ended'], 3);
  const totals = (await staffOf(guildId)).map(
    ({ game_id, intervals: [total] }: { game_id: number; intervals: Record<string, unknown>[] }) => [
      game_id,
      total?.['sessions'],
      total?.['seconds'],
      total?.['actions'],
    ],
  );
  expect(totals).toEqual([
    [7001, 1, 10, { kick: 1 }],
    [7002, 1, 0, {}],
    [7003, 1, 0, {}],
  ]);
});

test('idle seconds are at most those of the session', async () => {
  const guildId = newGuild();
  const session = await start(guildId, 7001);
  await beat(guildId, session, 1_000_000_000);
  await fixture.advance(5_000);
  await end(guildId, session);
  expect(await staffOf(guildId)).toMatchObject([{ intervals: [{ seconds: 5, idle_seconds: 5 }] }]);
});

test('at most 20 types of actions are named, also if they are logged at the same time', async () => {
  const guildId = newGuild();
  const types = Array.from({ length: 25 }, (_, n) => `type${n}`);
  for (const type of types.slice(0, 15)) await log(guildId, { action_type: type });
  await Promise.all(types.slice(15).map((type) => log(guildId, { action_type: type })));
  await log(guildId, { action_type: 'type0' });
  await log(guildId, { action_type: '__proto__' });
  const [{ intervals }] = await staffOf(guildId);
  expect(Object.keys(intervals[0].actions)).toHaveLength(20);
  expect(intervals[0]).toMatchObject({ actions: { type0: 2 }, other_actions: 6 });
});

test('pages contain each staff member once, ordered by ID, and none without activity in the time of the report', async () => {
  const guildId = newGuild();
  for (const id of [7005, 7001, 7003, 7002, 7004]) await log(guildId, { actor_game_id: id });
  await log(guildId, { actor_game_id: 7006, occurred_at: MIDNIGHT - 30 * DAY });
  const found: number[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = `${RANGE}&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const { data } = (await report(guildId, query)).body as {
      data: { staff: { game_id: number }[]; next_cursor: string };
    };
    found.push(data.staff.map(({ game_id: id }) => id));
    cursor = data.next_cursor;
    // Somebody before and somebody after the position.
    await log(guildId, { actor_game_id: 6_000 + found.length });
  }
  expect(found).toEqual([[7001, 7002], [7003, 7004], [7005]]);
});

test('many staff members without activity in the time of the report make a page short but do not end it', async () => {
  const guildId = newGuild();
  await fixture.database.query(
    `INSERT INTO activity.staff_totals (guild_id, game_id, width, slot, sessions)
     SELECT $1, n, 3600, '2020-01-01', 1 FROM generate_series(1, $2) n`,
    [guildId, MAX_CHECKED_STAFF + 1],
  );
  await log(guildId, { actor_game_id: 999_999 });
  const { staff, next_cursor: cursor } = (await report(guildId)).body.data;
  expect(staff).toEqual([]);
  const [member] = await staffOf(guildId, `${RANGE}&cursor=${cursor}`);
  expect(member.game_id).toBe(999_999);
});

test('every fault of a request is listed, and so is a cursor of another report', async () => {
  const guildId = newGuild();
  const faults = async (query: string, guild = guildId) =>
    (await report(guild, query)).body.details.errors.map(({ path }: { path: string }) => path);
  expect(await faults('')).toEqual(['query.from', 'query.to']);
  expect((await faults('?from=x&to=-1&interval=month&tz=Mars&limit=0')).toSorted()).toEqual(
    ['query.from', 'query.interval', 'query.limit', 'query.to', 'query.tz'].toSorted(),
  );
  expect(await faults(`?from=2&to=1&limit=0`)).toEqual(expect.arrayContaining(['query.to', 'query.limit']));
  expect(await faults(`?from=0&to=${92 * DAY + 1}`)).toEqual(['query.to']);
  expect((await report(guildId, `?from=0&to=${92 * DAY}`)).status).toBe(200);
  expect((await report(guildId, '?from=99999999999&to=99999999999&tz=Asia/Kolkata')).status).toBe(200);
  for (const tz of ['%2B05:30', 'UTC%20', 'x'.repeat(65)])
    expect(await faults(`${RANGE}&tz=${tz}`)).toEqual(['query.tz']);
  for (const id of [1, 2]) await log(guildId, { actor_game_id: id });
  const { next_cursor: cursor } = (await report(guildId, `${RANGE}&limit=1`)).body.data;
  const filters = { from: MIDNIGHT, to: MIDNIGHT + 3 * DAY, interval: 'day', tz: 'UTC' };
  const madeUp = encodeCursor({ route: 'staff report', guildId, filters }, 'x');
  for (const query of [`&tz=Asia/Tokyo&cursor=${cursor}`, `&interval=week&cursor=${cursor}`, `&cursor=${madeUp}`])
    expect(await faults(RANGE + query)).toEqual(['query.cursor']);
  expect(await faults(`${RANGE}&cursor=${cursor}`, newGuild())).toEqual(['query.cursor']);
});
