import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { databaseRows } from '#test/postgres/database.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const UNKNOWN_SERVERS = amount(4_000, 20_000);
const CONCURRENCY = 250;
const BANS = amount(3, 100);
const TIMES = amount(40, 200);
const MAX_LIVE = 2_000;

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

/** The median response time of a heartbeat, in ms. */
async function median(guildId: string): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < TIMES; count++) {
    const started = performance.now();
    expect((await fixture.beat('own', {}, { guildId })).status).toBe(200);
    times.push(performance.now() - started);
  }
  return times.toSorted((a, b) => a - b)[TIMES / 2] ?? 0;
}

const rowsOf = async (table: string, guildId: string) =>
  (
    await fixture.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM activity.${table} WHERE guild_id = $1`,
      [guildId],
    )
  )[0]?.count;

test(`${UNKNOWN_SERVERS} made-up servers and ${BANS} bans of a guild do not delay other heartbeats`, async () => {
  const [attacker, neighbour] = [newGuild(), newGuild()];
  const before = await median(neighbour);
  const players = Array.from({ length: 50 }, (_, n) => ({ game_id: 7_000 + n, username: `Player${n}` }));
  const statuses = new Map<number, number>();
  for (let from = 0; from < UNKNOWN_SERVERS; from += CONCURRENCY) {
    const beats = Array.from({ length: CONCURRENCY }, (_, n) =>
      fixture.beat(`made-up-${from + n}`, { players }, { guildId: attacker }),
    );
    for (const { status } of await Promise.all(beats)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  expect(statuses.get(200)).toBe(MAX_LIVE);
  expect(statuses.get(409)).toBe(UNKNOWN_SERVERS - MAX_LIVE);
  // As if each of them had been live at some time within the last hour.
  await databaseRows(
    fixture.testDatabase.url,
    `INSERT INTO activity.servers (guild_id, server_id, place_id, player_count, max_players, heartbeat_at,
       interval_seconds, live_until)
     SELECT $1, 'lapsed-' || n, 1, 0, 0, now(), 15, '2020-01-01' FROM generate_series(1, ${UNKNOWN_SERVERS}) n`,
    [attacker],
  );
  const started = performance.now();
  for (let ban = 0; ban < BANS; ban++) expect(await fixture.deliver({ guildId: attacker })).toBe(MAX_LIVE);
  withinBound(`a ban for ${MAX_LIVE} servers`, (performance.now() - started) / BANS, 50);
  const rows = await rowsOf('commands', attacker);
  expect(await rowsOf('deliveries', attacker)).toBe(0);
  printFigure('rows that a ban writes', Number(rows) / BANS);
  expect(rows).toBe(BANS);
  // Further made-up servers keep arriving during the measurement, in concurrent groups.
  const over = new AbortController();
  const arriving = (async () => {
    for (let n = 0; !over.signal.aborted; n += 20) {
      await Promise.all(
        Array.from({ length: 20 }, (_, m) => fixture.beat(`later-${n + m}`, { players }, { guildId: attacker })),
      );
    }
  })();
  const during = await median(neighbour);
  over.abort();
  await arriving;
  const after = await median(neighbour);
  printFigure("another guild's heartbeat before, in ms, median", before);
  printFigure("another guild's heartbeat during the attack, in ms, median", during);
  withinBound("another guild's heartbeat after the attack, compared with before", Math.max(0, after - before), 10);
}, 600_000);
