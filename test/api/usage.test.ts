import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { CATEGORIES } from '#proto/rest/limits.ts';
import { RETAINED_KINDS } from '#proto/rest/retained-kinds.ts';
import { usageRoutes } from '#proto/rest/usage.ts';
import { databaseRows } from '../postgres/database.ts';
import { GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

const PATIENCE = { timeout: 30_000, interval: 100 };

let network: Network;

beforeAll(async () => {
  network = await startNetwork();
}, 180_000);
afterAll(() => network.stop());

const usagePath = (guild = GUILD) => `/guilds/${guild}/usage`;

async function usageOf(key: string, guild = GUILD) {
  const response = await network.call(usagePath(guild), { key });
  expect(response).toMatchObject({ status: 200, json: { message: 'Usage read' } });
  return response.json.data;
}

interface Counts {
  category: string;
  allowed: number;
  rejected: number;
}
const countsOf = (all: readonly Counts[], category: string) => {
  const { allowed = 0, rejected = 0 } = all.find((counts) => counts.category === category) ?? {};
  return { allowed, rejected };
};

/** The statuses of requests to one gateway. */
async function send(
  gateway: RunningService,
  key: string,
  path: string,
  times: number,
  guild = GUILD,
): Promise<number[]> {
  const url = `http://${gateway.addresses.http}/api/v1${path}`;
  const responses = await Promise.all(
    Array.from({ length: times }, () => fetch(url, { headers: { 'x-api-key': key, 'x-guild-id': guild } })),
  );
  await Promise.all(responses.map((response) => response.text()));
  return responses.map(({ status }) => status);
}

const expectedOf = (statuses: readonly number[]) => ({
  allowed: statuses.filter((status) => status === 200 || status === 404).length,
  rejected: statuses.filter((status) => status === 429 || status === 503).length,
});

describe('requests', () => {
  test('are exact over two gateways, one of which is restarted, and belong to their guild', async () => {
    const { secret: key } = await network.createKey({ rateLimit: 20 });
    const { secret: other } = await network.createKey({ guildId: OTHER_GUILD });
    const first = network.services.get('gateway') as RunningService;
    const second = await network.startOne('gateway');
    const path = '/lookup/chat/920000000000000001';
    const sent = [...(await send(first, key, path, 15)), ...(await send(second, key, path, 30))];
    // These are rejected before a limit and are not counted.
    expect(await send(second, `${key.slice(0, -1)}_`, path, 1)).toEqual([401]);
    expect(await send(second, other, `/moderation/${GUILD}/ban-status/7001`, 1)).toEqual([403]);
    await first.stop();
    const third = await network.startOne('gateway');
    sent.push(...(await send(third, key, path, 5)));
    const expected = expectedOf(sent);
    expect(expected.allowed + expected.rejected).toBe(50);
    // Also if a new window begins in between.
    expect(expected.rejected).toBeGreaterThan(0);
    // This key has a limit of its own, which the requests for the usage must not exceed.
    const { secret: reader } = await network.createKey();
    await vi.waitFor(async () => {
      const { requests } = await usageOf(reader);
      expect(countsOf(requests.last_hour, 'lookup')).toEqual(expected);
    }, PATIENCE);
    const { requests } = await usageOf(reader);
    const days = requests.days.flatMap(({ categories }: { categories: Counts[] }) => categories);
    const sum = (name: 'allowed' | 'rejected') =>
      days.reduce((total: number, counts: Counts) => total + (counts.category === 'lookup' ? counts[name] : 0), 0);
    expect({ allowed: sum('allowed'), rejected: sum('rejected') }).toEqual(expected);
    expect(requests.days[0].day % 86_400).toBe(0);
    expect(countsOf((await usageOf(other, OTHER_GUILD)).requests.last_hour, 'lookup')).toEqual({
      allowed: 0,
      rejected: 0,
    });
    expect(Object.keys(CATEGORIES)).toEqual(
      expect.arrayContaining(requests.last_hour.map(({ category }: Counts) => category)),
    );
  });

  test("above the guild's share of requests in flight are counted as rejected", async () => {
    const { secret: key } = await network.createKey({ guildId: OTHER_GUILD });
    // One guild has one request in flight. Fewer than ten requests at a time are not rejected before their key is known.
    const narrow = await network.startOne('gateway', { MAX_IN_FLIGHT: '10' });
    await send(narrow, key, '/whoami', 1, OTHER_GUILD);
    const statuses: number[] = [];
    for (let round = 0; round < 5; round++) {
      statuses.push(...(await send(narrow, key, '/lookup/chat/920000000000000001', 8, OTHER_GUILD)));
    }
    expect(statuses).toContain(503);
    await narrow.stop();
    await network.startOne('gateway');
    const { requests } = await usageOf(key, OTHER_GUILD);
    expect(countsOf(requests.last_hour, 'lookup')).toEqual(expectedOf(statuses));
  });
});

describe('rows, live servers and quotas', () => {
  test('are those that the guild has written', async () => {
    const { secret: key } = await network.createKey();
    const before = await usageOf(key);
    expect(before.rows.kinds.map(({ kind }: { kind: string }) => kind)).toEqual(Object.keys(RETAINED_KINDS));
    expect(usageRoutes.getUsage.data.safeParse(before).success).toBe(true);
    await write(key);
    const after = await usageOf(key);
    const rowsOf = (usage: typeof after, kind: string) =>
      usage.rows.kinds.find((each: { kind: string }) => each.kind === kind).rows as number;
    const added = (kind: string) => rowsOf(after, kind) - rowsOf(before, kind);
    expect(added('links')).toBe(1);
    expect(added('bans_and_mutes')).toBe(1);
    expect(added('moderation_log')).toBe(1);
    expect(added('shield_entries')).toBe(2);
    expect(added('staff_actions')).toBe(3);
    expect(added('servers')).toBe(2);
    expect(added('webhooks')).toBe(1);
    const sum = after.rows.kinds.reduce((total: number, { rows }: { rows: number }) => total + rows, 0);
    expect(after.rows.total).toBe(sum);
    expect(after.live_servers).toBe(2);
    expect(after.quotas).toEqual([
      { quota: 'live_servers', limit: 2_000, used: 2 },
      { quota: 'shield_entries', limit: 100_000, used: 2 },
      { quota: 'staff_actions_per_day', limit: 100_000, used: 3 },
      { quota: 'webhooks', limit: 25, used: 1 },
    ]);
    const { secret: other } = await network.createKey({ guildId: OTHER_GUILD });
    expect(await usageOf(other, OTHER_GUILD)).toMatchObject({ live_servers: 0 });
  });

  test('count every row of the guild in the database, but not what stays when it is erased', async () => {
    const { secret: key } = await network.createKey();
    // Background work may still change rows: events are relayed, and decisions are delivered.
    await vi.waitFor(async () => {
      const counted = await rowsInDatabase(GUILD);
      const { rows } = await usageOf(key);
      expect(rows.total).toBe(counted);
      expect(await rowsInDatabase(GUILD)).toBe(counted);
    }, PATIENCE);
  });
});

/** The rows of a guild in all tables whose rows an erasure of the guild deletes, at one moment. */
async function rowsInDatabase(guild: string): Promise<number> {
  const counts: string[] = [];
  for (const service of ['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'events']) {
    const { erasureRules } = await import(`../../services/${service}/erasure.ts`);
    for (const { table, keptRows, belongsToInstallation } of erasureRules) {
      if (belongsToInstallation || keptRows === 'TRUE') continue;
      counts.push(`(SELECT count(*) FROM ${table} WHERE guild_id = $1)`);
    }
  }
  const text = `SELECT (${counts.join(' + ')})::int AS rows`;
  const [row] = await databaseRows<{ rows: number }>(network.databaseUrl, text, [guild]);
  return row?.rows ?? 0;
}

async function write(key: string): Promise<void> {
  const request = async (method: string, path: string, body: object) => {
    const response = await network.call(path, { method, key, body: { guild_id: GUILD, ...body } });
    expect([200, 201], `${path} ${JSON.stringify(response.json)}`).toContain(response.status);
  };
  await request('POST', '/verification/link', { chat_id: '920000000000000001', game_id: 7001 });
  await request('POST', `/moderation/${GUILD}/game/ban`, { game_id: 7001, reason: 'Cheats' });
  for (const player of [7001, 7002]) {
    await request('PUT', `/guilds/${GUILD}/shield/${player}`, { reason: 'Scams', category: 'scammer' });
  }
  for (const target of [1, 2, 3]) {
    const action = { actor_game_id: 7001, target_game_id: target, action_type: 'kick', action_id: crypto.randomUUID() };
    await request('POST', '/staff/game/action', action);
  }
  for (const server of ['one', 'two']) {
    await request('POST', '/game/servers/heartbeat', {
      server_id: server,
      place_id: 5,
      player_count: 0,
      max_players: 9,
    });
  }
  await request('POST', '/webhooks', { url: 'https://hooks.example.com/', types: ['link.created'] });
}

describe('the route', () => {
  test('accepts any valid key of the guild, and no other', async () => {
    const { secret: key } = await network.createKey({ scopes: ['lookup:read'] });
    expect((await network.call(usagePath(), { key })).status).toBe(200);
    expect(await network.call(usagePath(OTHER_GUILD), { key })).toMatchObject({
      status: 403,
      json: { details: { code: 'GUILD_MISMATCH' } },
    });
    expect((await network.call(usagePath(), {})).status).toBe(401);
    expect((await network.call(usagePath('1'), { key })).status).toBe(403);
  });

  test('is 503 with Retry-After while a service is down, and keys are verified all the same', async () => {
    const { secret: key } = await network.createKey();
    const ports = network.samePorts('moderation');
    await network.services.get('moderation')?.stop();
    const started = performance.now();
    const response = await network.call(usagePath(), { key });
    expect(response).toMatchObject({ status: 503, json: { details: { code: 'UNAVAILABLE' } } });
    expect(response.headers.get('retry-after')).toBe('1');
    expect(performance.now() - started).toBeLessThan(3_000);
    const { secret: fresh } = await network.createKey();
    expect((await network.call('/whoami', { key: fresh })).status).toBe(200);
    await network.startOne('moderation', ports);
    await vi.waitFor(async () => expect((await network.call(usagePath(), { key })).status).toBe(200), PATIENCE);
  });
});
