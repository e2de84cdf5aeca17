import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

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
