import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { BindingsFixture, OFFICER, rankBinding } from './fixture.ts';

const fixture = new BindingsFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(() => void fixture.nextGuild());
afterEach(() => fixture.calm());

test('lists that wait for names from a slow game platform do not delay another guild that adds a binding', async () => {
  const replica = await fixture.startBindings();
  const lists = Array.from({ length: 5 }, async (_, list) => {
    const guildId = fixture.nextGuild();
    await fixture.query(
      `INSERT INTO bindings.bindings
         (guild_id, chat_role_id, type, game_group_id, min_rank, max_rank, created_at, updated_at)
       SELECT $1, $2, 'group_rank', $3::int + n, 1, 2, now(), now() FROM generate_series(1, 100) n`,
      [guildId, OFFICER, 10_000 * (list + 1)],
    );
    return guildId;
  });
  const guilds = await Promise.all(lists);
  await fixture.game.fault('/v1/groups/', { delay_ms: 3_000 });
  const listing = guilds.map((guildId) => {
    fixture.guild = guildId;
    return fixture.list({ at: replica });
  });
  await expect.poll(async () => Object.keys(await fixture.game.calls())).toContain('GET /v1/groups/:group');
  fixture.nextGuild();
  const started = performance.now();
  expect((await fixture.add(rankBinding(), { at: replica })).status).toBe(201);
  const took = performance.now() - started;
  console.log(`with five lists waiting for names a binding was added in ${took.toFixed(0)} ms`);
  // Waits for one delay of the platform, and not also for the delays of earlier calls.
  expect(took).toBeLessThan(5_500);
  expect((await Promise.all(listing)).map(({ status }) => status)).toEqual(guilds.map(() => 200));
  await replica.stop();
});

describe('nothing is saved and the Idempotency-Key is free again', () => {
  const outages = [
    ['responds with 500', { status: 500 }, 502, 'PLATFORM_ERROR', null],
    ['responds with 403', { status: 403 }, 502, 'PLATFORM_ERROR', null],
    ['sends invalid JSON', { broken: true }, 502, 'PLATFORM_ERROR', null],
    ['truncates the response', { truncate: true }, 502, 'PLATFORM_ERROR', null],
    ['resets the connection', { reset: true }, 502, 'PLATFORM_ERROR', null],
    ['responds with 429', { status: 429, retry_after: 7 }, 503, 'UNAVAILABLE', '7'],
  ] as const;
  let replica: RunningService;
  // A new replica has empty caches, closed breakers and no pauses after a 429.
  beforeEach(async () => {
    replica = await fixture.startBindings();
  });
  afterEach(() => replica.stop());

  test.each(
    outages.flatMap((outage) => [['game', '/groups/', ...outage] as const, ['chat', '/roles', ...outage] as const]),
  )('when the %s platform (%s) %s', async (platform, match, _what, fault, status, code, retryAfter) => {
    await fixture[platform].fault(match, fault);
    const response = await fixture.add(rankBinding(), { key: 'outage', at: replica });
    expect(response).toMatchObject({ status, body: { details: { code } } });
    expect(response.headers.get('retry-after')).toBe(retryAfter);
    expect(response.body.message).toContain(platform);
    expect(await fixture.stored()).toBe(0);
    await fixture.calm();
    fixture.clock.advance(7_000);
    expect((await fixture.add(rankBinding(), { key: 'outage', at: replica })).status).toBe(201);
  });

  test.each([
    ['game', '/groups/', { status: 404 }, 502],
    ['chat', '/roles', { delay_ms: 20_000 }, 504],
  ] as const)('when the %s platform loses a route or is too slow', async (platform, match, fault, status) => {
    await fixture[platform].fault(match, fault);
    const started = performance.now();
    expect((await fixture.add(rankBinding(), { at: replica })).status).toBe(status);
    expect(performance.now() - started).toBeLessThan(7_500);
    expect(await fixture.stored()).toBe(0);
  });
});
