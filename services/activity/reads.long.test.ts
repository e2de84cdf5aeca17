import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { databaseRows } from '#test/postgres/database.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const STAFF = 100;
const DAYS = amount(93, 400);
const REPORT_DAYS = 92;
const DAY = 86_400;
const SERVERS = 2_000;
const PLAYERS = 200;
const REQUESTS = amount(3, 20);

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
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

test(`a report over ${REPORT_DAYS} days of ${STAFF} staff members takes at most 100 ms with ${DAYS} stored days`, async () => {
  const guildId = newGuild();
  const today = unixSeconds(fixture.clock.now());
  const query = async (text: string, values: unknown[] = []) => databaseRows(fixture.testDatabase.url, text, values);
  for (let day = DAYS; day > 0; day--) {
    const midnight = new Date((today - day * DAY) * 1000);
    // Two sessions of an hour and a half each day, in hours that differ between staff members, and eleven actions.
    await query(
      `INSERT INTO activity.staff_totals (guild_id, game_id, width, slot, sessions, seconds, idle_seconds)
       SELECT $1, n, width, date_bin(width * interval '1 second', quarter, 'epoch') AS bin, count(*), count(*) * 900, 10
       FROM generate_series(1, ${STAFF}) n CROSS JOIN (VALUES (900), (3600)) AS widths (width)
       CROSS JOIN LATERAL (
         SELECT $2::timestamptz + (n % 8 + hours) * interval '1 hour' + quarters * interval '15 minutes' AS quarter
         FROM (VALUES (2), (11)) AS starts (hours) CROSS JOIN generate_series(1, 6) AS quarters
       ) AS quarters
       GROUP BY n, width, bin`,
      [guildId, midnight],
    );
    await query(
      `INSERT INTO activity.action_totals (guild_id, game_id, width, slot, action_type, actions)
       SELECT $1, n, width, date_bin(width * interval '1 second',
           $2::timestamptz + (n % 8 + action) * interval '1 hour' + n % 4 * interval '15 minutes', 'epoch'),
         'type' || action % 5, 1
       FROM generate_series(1, ${STAFF}) n CROSS JOIN (VALUES (900), (3600)) AS widths (width)
       CROSS JOIN generate_series(1, 11) AS action`,
      [guildId, midnight],
    );
  }
  // As autovacuum does.
  for (const table of ['staff_totals', 'action_totals']) await query(`VACUUM ANALYZE activity.${table}`);
  const range = `from=${today - REPORT_DAYS * DAY}&to=${today - 1}&limit=100`;
  for (const tz of ['UTC', 'Europe/Berlin', 'Asia/Kathmandu']) {
    const read = () => fixture.get(`/guilds/${guildId}/staff/report?${range}&tz=${tz}`, { guildId });
    const { staff } = (await read()).body.data;
    expect(staff).toHaveLength(STAFF);
    expect(staff[0].intervals.length).toBeGreaterThanOrEqual(REPORT_DAYS);
    withinBound(
      `report of ${REPORT_DAYS} days of ${STAFF} staff members in ${tz}, median`,
      await medianTime(read),
      100,
    );
  }
}, 600_000);

test(`finding a player on ${SERVERS} servers with ${PLAYERS} players each takes at most 100 ms`, async () => {
  const guildId = newGuild();
  const now = new Date(fixture.clock.now());
  for (let from = 0; from < SERVERS; from += 100) {
    await fixture.database.query(
      `INSERT INTO activity.servers (guild_id, server_id, place_id, player_count, max_players, players, heartbeat_at,
         interval_seconds, live_until, is_counted)
       SELECT $1, 's' || n, 1, ${PLAYERS}, ${PLAYERS}, (
           SELECT json_agg(('{"game_id":' || 1000000 * player + n || ',"username":"Player' || player * n || '"}')::json)
           FROM generate_series(1, ${PLAYERS}) AS player
         ), $2, 15, $2::timestamptz + interval '1 hour', true
       FROM generate_series($3::int, $3 + 99) n`,
      [guildId, now, from],
    );
  }
  const find = (player: number) => fixture.get(`/guilds/${guildId}/players/${player}/server`, { guildId });
  expect((await find(150_001_234)).body.data.server.server_id).toBe('s1234');
  withinBound('finding a player among 400,000, median', await medianTime(() => find(150_001_234)), 100);
  withinBound('not finding a player among 400,000, median', await medianTime(() => find(9)), 100);
}, 120_000);
