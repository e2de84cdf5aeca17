// Guarantees for guilds that share the rate limit of inventories.
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { PURPOSES, requestContext, withPurpose } from '#kit/context.ts';
import { connectRedis, type RedisConnection } from '#kit/redis/client.ts';
import { PATIENCE } from '#test/patience.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { PlatformsFixture } from '../fixture.ts';
import type { GamePlatform } from '../game.ts';

const INVENTORY = 'GET /cloud/v2/users/:user/inventory-items';
const BADGE = { kind: 'badge', id: 801 } as const;
const USERS = 200;

let redis: RedisConnection;
let fixture: PlatformsFixture;
beforeAll(async () => {
  redis = connectRedis(await testRedisUrl(), { name: 'test', log: pino({ level: 'silent' }) });
  await redis.start();
  await vi.waitFor(() => redis.client.ping(), PATIENCE);
});
afterEach(() => fixture.stop());
afterAll(() => redis.stop());

async function start(withRedis: boolean): Promise<GamePlatform> {
  const users = Array.from({ length: USERS }, (_, index) => ({ id: index + 1, name: `U${index + 1}`, badges: [801] }));
  fixture = await PlatformsFixture.start({ world: { game: { users, badges: [{ id: 801, name: 'First Voyage' }] } } });
  fixture.redis = withRedis ? redis.client : undefined;
  const name = `key-${withRedis}-${Math.random()}`;
  return fixture.roblox({ GAME_API_KEY: name, GAME_INVENTORIES_PER_MINUTE: 100 });
}

/** Returns what a request of a guild, or work for it, learns about the badge of a user. */
async function badgeFor(game: GamePlatform, guildId: string, userId: number): Promise<boolean | string | undefined> {
  const context = { requestId: 'test', route: 'test', guildId };
  return (await requestContext.run(context, () => game.owns(userId, [BADGE])))[0];
}

test.each([true, false])(
  'requests of one guild leave enough of the rate limit for the requests, background work and jobs of another (with Redis: %s)',
  async (withRedis) => {
    const game = await start(withRedis);
    expect(await badgeFor(game, 'other', 1)).toBe(true);
    const greedy = Array.from({ length: 150 }, (_, index) => badgeFor(game, 'greedy', index + 10));
    await expect.poll(async () => (await fixture.game.calls())[INVENTORY]).toBeGreaterThanOrEqual(50);
    for (const [index, purpose] of PURPOSES.entries()) {
      expect(await withPurpose(purpose, () => badgeFor(game, 'other', index + 2))).toBe(true);
    }
    const made = (await Promise.all(greedy)).filter((owned) => owned === true).length;
    // A busy machine may take some slots from its own share of them, because Redis did not respond in time.
    expect(made).toBeGreaterThan(40);
    expect(made).toBeLessThan(70);
    expect((await fixture.game.calls())[INVENTORY]).toBe(made + 4);
  },
  30_000,
);
