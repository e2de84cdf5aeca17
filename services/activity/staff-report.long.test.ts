import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const DAYS = amount(100, 400);
const STAFF = amount(20, 100);
const OTHER_GUILDS = 4;
const REQUESTS = amount(3, 15);
const DAY_SECONDS = 86_400;

const fixture = new ActivityFixture();
const guildId = newGuild();
const now = () => unixSeconds(fixture.clock.now());

/** Stores two sessions of 3.5 hours and 30 actions of six types for each staff member on each day. */
async function fillDays(): Promise<void> {
  for (let day = DAYS; day > 0; day--) {
    // Members begin at different times of the day.
    const start = `to_timestamp(${now() - day * DAY_SECONDS}) + (member * 13 % 24) * interval '1 hour'`;
    await fixture.database.query(
      `INSERT INTO activity.sessions (guild_id, session_id, game_id, place_id, server_id, started_at, beat_at,
         idle_seconds, ended_at, end_reason)
       SELECT $1, gen_random_uuid(), 7000 + member, 1, 's', start, start + interval '3.5 hours', 700,
         start + interval '3.5 hours', 'left'
       FROM generate_series(1, $2::int) AS member, generate_series(0, 1) AS part,
         LATERAL (SELECT ${start} + part * interval '4 hours' AS start) AS session`,
      [guildId, STAFF],
    );
    await fixture.database.query(
      `INSERT INTO activity.actions (guild_id, action_id, actor_game_id, action_type, occurred_at, created_at)
       SELECT $1, gen_random_uuid(), 7000 + member, 'type ' || n % 6, ${start} + n * interval '15 minutes',
         ${start} + n * interval '15 minutes'
       FROM generate_series(1, $2::int) AS member, generate_series(0, 29) AS n`,
      [guildId, STAFF],
    );
  }
  for (let other = 0; other < OTHER_GUILDS; other++) {
    await fixture.database.query(
      `INSERT INTO activity.staff_days SELECT $2, game_id, day, session_totals, action_types, action_totals
       FROM activity.staff_days WHERE guild_id = $1`,
      [guildId, newGuild()],
    );
  }
  await fixture.database.query('ANALYZE activity.staff_days');
}

beforeAll(async () => {
  await fixture.start();
  await fillDays();
}, 600_000);
afterAll(() => fixture.stop());

/** Returns the median time of a request in milliseconds, after two requests that are not measured. */
async function medianTime(request: () => Promise<{ status: number }>): Promise<number> {
  const times: number[] = [];
  for (let n = -2; n < REQUESTS; n++) {
    const started = performance.now();
    expect((await request()).status).toBe(200);
    if (n >= 0) times.push(performance.now() - started);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(REQUESTS / 2)] ?? 0;
}

test.each([
  ['day', 'UTC'],
  ['day', 'America/New_York'],
  ['day', 'Asia/Kathmandu'],
  ['week', 'Australia/Lord_Howe'],
])(`a report by %s in %s over 92 days of ${STAFF} staff members takes at most 100 ms`, async (interval, tz) => {
  const to = now() - DAY_SECONDS;
  const query = new URLSearchParams({
    from: String(to - 92 * DAY_SECONDS),
    to: String(to),
    interval,
    tz,
    limit: '100',
  });
  const read = () => fixture.get(`/guilds/${guildId}/staff/report?${query.toString()}`, { guildId });
  const { data } = (await read()).body;
  expect([data.staff.length, data.next_cursor]).toEqual([STAFF, null]);
  const seconds = data.staff[0].intervals.reduce((sum: number, counts: { seconds: number }) => sum + counts.seconds, 0);
  expect(seconds).toBe(92 * 7 * 3600);
  withinBound(`report by ${interval} in ${tz}, median`, await medianTime(read), 100);
});
