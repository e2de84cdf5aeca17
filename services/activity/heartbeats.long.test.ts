import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { ActivityFixture } from './fixture.ts';

const SERVERS = 1_000;
const ROUNDS = amount(3, 20);
const PLAYERS = Array.from({ length: 20 }, (_, n) => ({ game_id: 7_000 + n, username: `Player${n}` }));

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

test(`heartbeats of ${SERVERS} servers take at most 5 s and few statements, and update rows within their page`, async () => {
  const names = Array.from({ length: SERVERS }, (_, n) => `server-${n}`);
  const beatAll = async (playerCount: number) => {
    const started = performance.now();
    const beats = names.map((name) => fixture.beat(name, { players: PLAYERS, player_count: playerCount }));
    expect((await Promise.all(beats)).filter(({ status }) => status === 200)).toHaveLength(SERVERS);
    return performance.now() - started;
  };
  await beatAll(0);
  const times: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) times.push(await beatAll(round));
  withinBound(`${SERVERS} concurrent heartbeats, slowest of ${ROUNDS} rounds`, Math.max(...times), 5_000);

  const batches = (await fixture.metric('activity_heartbeat_batches_total')) ?? 0;
  const beats = SERVERS * (ROUNDS + 1);
  printFigure('heartbeats written by one statement', beats / batches);
  expect(beats / batches).toBeGreaterThan(10);
  // A connection reports all its counts to the statistics when it is closed.
  await fixture.activity.stop();
  const [counted] = await fixture.database.query<{ all: number; hot: number }>(
    `SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables
     WHERE schemaname = 'activity' AND relname = 'servers'`,
  );
  printFigure('n_tup_upd of activity.servers', counted?.all ?? 0);
  printFigure('n_tup_hot_upd of activity.servers', counted?.hot ?? 0);
  expect(counted?.all).toBe(SERVERS * ROUNDS);
  expect(Number(counted?.hot) / Number(counted?.all)).toBeGreaterThan(0.95);
}, 300_000);
