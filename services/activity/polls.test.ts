import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { RunningService } from '#kit/service/service.ts';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { databaseRows } from '#test/postgres/database.ts';
import { Leases } from './domain/leases.ts';
import { Polls } from './domain/polls.ts';
import { ActivityFixture, type Command, newGuild } from './fixture.ts';

const fixture = new ActivityFixture();
let other: RunningService;
beforeAll(async () => {
  await fixture.start();
  other = await fixture.startActivity();
});
afterAll(async () => {
  await other.stop();
  await fixture.stop();
});

const openPolls = async (service: RunningService) => (await fixture.metric('activity_open_polls', '', service)) ?? 0;
async function expectListening(service: RunningService): Promise<void> {
  await expect.poll(() => fixture.metric('listener_receiving', '{channel="activity_commands"}', service)).toBe(1);
}

/** Opens a poll in `service`, and returns its response when it ends. */
async function waiting(server: string, guildId: string, service: RunningService, query = '?wait=25') {
  const { status, body } = await fixture.poll(server, query, { guildId, at: service });
  return { status, at: performance.now(), commands: (body.data?.commands ?? []) as Command[] };
}

test('a command that one replica receives wakes a waiting poll in another replica', async () => {
  const guildId = newGuild();
  const woken = waiting('a', guildId, other);
  await expect.poll(() => openPolls(other)).toBe(1);
  const [id] = await fixture.send('a', { guildId });
  expect((await woken).commands).toMatchObject([{ command_id: id }]);
});

test('a decision wakes the waiting polls of all servers, and they get the same command', async () => {
  const guildId = newGuild();
  const servers = Array.from({ length: 30 }, (_, n) => `s${n}`);
  await Promise.all(servers.map((server) => fixture.beat(server, {}, { guildId })));
  const polls = servers.map((server, n) =>
    fixture.take(server, '?wait=25', { guildId, at: n % 2 ? other : undefined }),
  );
  await expect.poll(async () => (await openPolls(other)) + (await openPolls(fixture.activity))).toBe(30);
  expect(await fixture.deliver({ guildId })).toBe(30);
  const taken = await Promise.all(polls);
  expect(taken.map(({ length }) => length)).toEqual(Array(30).fill(1));
  expect(new Set(taken.map(([command]) => command?.command_id)).size).toBe(1);
});

test('of two waiting polls of one server, one gets the command', async () => {
  const guildId = newGuild();
  const polls = [
    fixture.take('a', '?wait=3', { guildId, at: other }),
    fixture.take('a', '?wait=3', { guildId, at: other }),
  ];
  await expect.poll(() => openPolls(other)).toBe(2);
  const [id] = await fixture.send('a', { guildId });
  const taken = await Promise.all(polls);
  expect(taken.flat()).toMatchObject([{ command_id: id, attempt: 1 }]);
});

test('a poll returns no commands when its time is over', async () => {
  const started = performance.now();
  const { status, body } = await fixture.poll('unknown', '?wait=1');
  expect([status, body.data]).toEqual([200, { commands: [], poll_after_seconds: 15 }]);
  expect(performance.now() - started).toBeGreaterThan(950);
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('a poll does not wait if there is a command already', async () => {
  const guildId = newGuild();
  await fixture.send('a', { guildId });
  const started = performance.now();
  expect(await fixture.take('a', '?wait=25', { guildId })).toHaveLength(1);
  expect(performance.now() - started).toBeLessThan(10_000);
});

test.each([-3600_000, -10_000, 10_000, 3600_000])(
  'a process whose clock jumps by %i ms does not lease a command that is leased already',
  async (step) => {
    const guildId = newGuild();
    await fixture.send('a', { guildId, ttlSeconds: 7_200 });
    expect(await fixture.take('a', '', { guildId })).toHaveLength(1);
    fixture.clock.advance(step);
    expect(await fixture.take('a', '', { guildId, at: other })).toEqual([]);
    fixture.clock.advance(-step);
  },
);

test('a waiting poll gets a leased command when its lease ends', async () => {
  const guildId = newGuild();
  const [id] = await fixture.send('a', { guildId });
  await fixture.take('a', '', { guildId });
  await fixture.advance(29_000);
  const started = performance.now();
  const woken = waiting('a', guildId, other);
  await expect.poll(() => openPolls(other)).toBe(1);
  await fixture.advance(1_000);
  const { commands, at } = await woken;
  expect(commands).toMatchObject([{ command_id: id, attempt: 2 }]);
  expect(at - started).toBeLessThan(3_000);
});

test('polls are closed as soon as their client disconnects', async () => {
  const client = new AbortController();
  const polls = Array.from({ length: 10 }, (_, n) =>
    fixture.poll(`s${n}`, '?wait=25', { at: other, signal: client.signal }).catch(() => 'disconnected'),
  );
  await expect.poll(() => openPolls(other)).toBe(10);
  client.abort();
  expect(new Set(await Promise.all(polls))).toEqual(new Set(['disconnected']));
  await expect.poll(() => openPolls(other), { timeout: 5_000 }).toBe(0);
});

test('a command that was leased for a disconnected client is released for the next poll', async () => {
  const guildId = newGuild();
  const client = new AbortController();
  const database: Queryable = {
    isDistributed: async () => (await fixture.database.isDistributed?.()) ?? false,
    query: async (statement, values) => {
      const rows = await fixture.database.query<never>(statement, values);
      if (JSON.stringify(statement).includes('SKIP LOCKED')) client.abort();
      return rows;
    },
  };
  const leases = new Leases(database, { commandHandedOver: () => undefined });
  const polls = new Polls({ database, leases, maxWaiting: 1 });
  const [id] = await fixture.send('a', { guildId });
  expect(await polls.poll({ guildId, serverId: 'a', limit: 20 }, 25_000, client.signal)).toEqual([]);
  const next = () => fixture.take('a', '', { guildId });
  const taken: Command[] = [];
  await expect.poll(async () => taken.push(...(await next()))).toBe(1);
  expect(taken).toMatchObject([{ command_id: id, attempt: 1 }]);
});

test('a poll that fails has leased nothing', async () => {
  const guildId = newGuild();
  const [id] = await fixture.send('a', { guildId });
  // The table that holds the interval.
  await fixture.database.query('ALTER TABLE activity.guilds RENAME TO hidden');
  expect((await fixture.poll('a', '?wait=5', { guildId })).status).toBe(500);
  await fixture.database.query('ALTER TABLE activity.hidden RENAME TO guilds');
  expect(await fixture.take('a', '', { guildId })).toMatchObject([{ command_id: id, attempt: 1 }]);
});

test('draining ends waiting polls with a response without commands', async () => {
  const guildId = newGuild();
  const replica = await fixture.startActivity();
  const polls = Array.from({ length: 20 }, (_, n) => fixture.poll(`s${n}`, '?wait=25', { guildId, at: replica }));
  await expect.poll(() => openPolls(replica)).toBe(20);
  const started = performance.now();
  await replica.stop();
  for (const { status, body } of await Promise.all(polls)) {
    expect([status, body.data]).toEqual([200, { commands: [], poll_after_seconds: 15 }]);
  }
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('without notifications a waiting poll still gets its command within 5 s', async () => {
  const guildId = newGuild();
  const proxy = await startTcpProxy(Number(new URL(fixture.testDatabase.url).port));
  const direct = new URL(fixture.testDatabase.url);
  direct.port = String(proxy.port);
  const isolated = await fixture.startActivity({ DATABASE_DIRECT_URL: direct.href });
  await expectListening(isolated);
  proxy.freezeAll();
  const woken = waiting('a', guildId, isolated);
  await expect.poll(() => openPolls(isolated)).toBe(1);
  const started = performance.now();
  const [id] = await fixture.send('a', { guildId });
  const { commands, at } = await woken;
  expect(commands).toMatchObject([{ command_id: id }]);
  expect(at - started).toBeLessThan(6_000);
  await proxy.close();
  await isolated.stop();
});

test('a poll above the maximum number of waiting polls returns without waiting', async () => {
  const replica = await fixture.startActivity({ MAX_WAITING_POLLS: '1' });
  const first = fixture.take('a', '?wait=25', { at: replica });
  await expect.poll(() => openPolls(replica)).toBe(1);
  expect(await fixture.take('b', '?wait=25', { at: replica })).toEqual([]);
  await replica.stop();
  expect(await first).toEqual([]);
});

test.each([
  ['limit', '?limit=0', 'query.limit', 'must be a whole number from 1 to 50'],
  ['limit', '?limit=51', 'query.limit', 'must be a whole number from 1 to 50'],
  ['wait', '?wait=26', 'query.wait', 'must be a whole number from 0 to 25'],
  ['wait', '?wait=-1', 'query.wait', 'must be a whole number from 0 to 25'],
  ['wait', '?wait=1.5', 'query.wait', 'must be a whole number from 0 to 25'],
])('a fault in %s is 400: %s', async (_name, query, path, message) => {
  const { status, body } = await fixture.poll('a', query);
  expect([status, body.details]).toEqual([400, { code: 'INVALID_REQUEST', errors: [{ path, message }] }]);
});

test('after kill -9 between lease and response the command is handed over again', async () => {
  const guildId = newGuild();
  const proxy = await startTcpProxy(Number(new URL(fixture.testDatabase.url).port));
  const url = new URL(fixture.testDatabase.url);
  url.port = String(proxy.port);
  await fixture.advance(Date.now() - fixture.clock.now());
  const { kill, at } = await fixture.startProcess(url.href);
  const [id] = await fixture.send('a', { guildId, ttlSeconds: 600 });
  expect(await fixture.take('unknown', '', { guildId, at })).toEqual([]);

  // Blocks the statement that leases the command, until the proxy is set up to lose its result.
  let outcome: Promise<string> | undefined;
  await fixture.database.transaction(async (transaction) => {
    await transaction.query('LOCK TABLE activity.commands');
    outcome = fixture.poll('a', '', { guildId, at }).then(
      () => 'a response',
      () => 'none',
    );
    const blocked = `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%behind AS MATERIALIZED%'`;
    await expect.poll(() => databaseRows(fixture.testDatabase.url, blocked)).toHaveLength(1);
    proxy.dropResponses();
  });
  const attempt = async () => (await fixture.admin().listCommands({ guildId, limit: 1 })).commands[0]?.attempt;
  await expect.poll(attempt).toBe(1);
  await kill();
  expect(await outcome).toBe('none');

  expect(await fixture.take('a', '', { guildId })).toEqual([]);
  await fixture.advance(Date.now() - fixture.clock.now() + 30_000);
  expect(await fixture.take('a', '', { guildId })).toMatchObject([{ command_id: id, attempt: 2 }]);
  await proxy.close();
}, 60_000);
