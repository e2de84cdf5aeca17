import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { ModerationFixture, newGuild } from './fixture.ts';

const BANS = amount(5_000, 100_000);
const REPEATS = 20;
const BOUND_MS = 200;

const fixture = new ModerationFixture();
const guildId = newGuild();

beforeAll(async () => {
  await fixture.start();
  await fixture.query(
    `INSERT INTO moderation.punishments (guild_id, kind, game_id, place_id, reason, created_at, expires_at, updated_at)
     SELECT $1, kind, n, CASE WHEN n % 3 = 0 THEN 0 ELSE n % 50 END, 'Cheats', now(),
       CASE WHEN n % 2 = 0 THEN 'infinity' ELSE now() + n * interval '1 minute' END, now() - n * interval '1 second'
     FROM generate_series(1, $2::int) n, unnest(ARRAY['ban', 'mute']) kind`,
    [guildId, BANS],
  );
  await fixture.query('ANALYZE moderation.punishments');
}, 300_000);
afterAll(() => fixture.stop());

test.each(['bans', 'mutes'])(
  `a page of ${BANS} active %s arrives within ${BOUND_MS} ms with each filter`,
  async (name) => {
    const path = `/moderation/${guildId}/game/${name}/active?limit=100`;
    const first = (await fixture.get(path, { guildId })).body.data;
    const filters = ['', `&cursor=${first.next_cursor}`, '&game_id=33', '&place_id=7', '&game_id=33&place_id=7'];
    for (const filter of [...filters, '&updated_since=1', '&updated_since=1&place_id=7']) {
      const times: number[] = [];
      for (let count = 0; count < REPEATS; count++) {
        const started = performance.now();
        const { status } = await fixture.get(path + filter, { guildId });
        times.push(performance.now() - started);
        expect(status).toBe(200);
      }
      const label = filter.replace(/cursor=.*/, 'cursor');
      withinBound(`a page of active ${name} ${label}, slowest of ${REPEATS}`, Math.max(...times), BOUND_MS);
    }
  },
);
