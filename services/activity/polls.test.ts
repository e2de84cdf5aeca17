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
async function expectHearing(service: RunningService): Promise<void> {
  await expect.poll(() => fixture.metric('listener_hearing', '{channel="activity_commands"}', service)).toBe(1);
}

/** A poll that waits in `service`. */
async function waiting(server: string, guildId: string, service: RunningService, query = '?wait=25') {
  const before = await openPolls(service);
  const answer = fixture.poll(server, query, { guildId, at: service });
  await expect.poll(() => openPolls(service)).toBe(before + 1);
  return answer.then(({ status, body }) => ({
    status,
    at: performance.now(),
    commands: (body.data?.commands ?? []) as Command[],
  }));
}

test('a poll that waits is woken by a command that another replica took', async () => {
  const guildId = newGuild();
  const woken = waiting('a', guildId, other);
  await expect.poll(() => openPolls(other)).toBe(1);
  const [id] = await fixture.send('a', { guildId });
  expect((await woken).commands).toMatchObject([{ command_id: id }]);
});

test('a decision and a command for all wake every server that waits, the same command', async () => {
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

test('of two polls of one server that wait, one gets the command', async () => {
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

test('a poll whose time is over is answered with nothing', async () => {
  const started = performance.now();
  const { status, body } = await fixture.poll('nobody', '?wait=1');
  expect([status, body.data]).toEqual([200, { commands: [], poll_after_seconds: 15 }]);
  expect(performance.now() - started).toBeGreaterThan(950);
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('a command that is there already is answered at once', async () => {
  const guildId = newGuild();
  await fixture.send('a', { guildId });
  const started = performance.now();
  expect(await fixture.take('a', '?wait=25', { guildId })).toHaveLength(1);
  expect(performance.now() - started).toBeLessThan(10_000);
});

test.each([-3600_000, -10_000, 10_000, 3600_000])(
  'a process whose clock is stepped by %i ms takes over no live lease',
  async (step) => {
    const guildId = newGuild();
    await fixture.send('a', { guildId, ttlSeconds: 7_200 });
    expect(await fixture.take('a', '', { guildId })).toHaveLength(1);
    fixture.clock.advance(step);
    expect(await fixture.take('a', '', { guildId, at: other })).toEqual([]);
    fixture.clock.advance(-step);
  },
);

test('a poll that waits gets a leased command when its lease ends', async () => {
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

test('a client that goes away frees its place at once', async () => {
  const gone = new AbortController();
  const polls = Array.from({ length: 10 }, (_, n) =>
    fixture.poll(`gone-${n}`, '?wait=25', { at: other, signal: gone.signal }).catch(() => 'gone'),
  );
  await expect.poll(() => openPolls(other)).toBe(10);
  gone.abort();
  expect(new Set(await Promise.all(polls))).toEqual(new Set(['gone']));
  await expect.poll(() => openPolls(other), { timeout: 5_000 }).toBe(0);
});

test('what was leased for a client that went away meanwhile is there at once for the next poll', async () => {
  const guildId = newGuild();
  const gone = new AbortController();
  const database: Queryable = {
    query: async (statement, values) => {
      const rows = await fixture.database.query<never>(statement, values);
      if (JSON.stringify(statement).includes('SKIP LOCKED')) gone.abort();
      return rows;
    },
  };
  const leases = new Leases(database, { commandHandedOver: () => undefined });
  const polls = new Polls({ database, leases, mostWaiting: 1 });
  const [id] = await fixture.send('a', { guildId });
  expect(await polls.take({ guildId, serverId: 'a', limit: 20 }, 25_000, gone.signal)).toEqual([]);
  const next = () => fixture.take('a', '', { guildId });
  const taken: Command[] = [];
  await expect.poll(async () => taken.push(...(await next()))).toBe(1);
  expect(taken).toMatchObject([{ command_id: id, attempt: 1 }]);
});

test('a poll that can not be answered has leased nothing', async () => {
  const guildId = newGuild();
  const [id] = await fixture.send('a', { guildId });
  // Where the interval is read.
  await fixture.database.query('ALTER TABLE activity.guilds RENAME TO hidden');
  expect((await fixture.poll('a', '?wait=5', { guildId })).status).toBe(500);
  await fixture.database.query('ALTER TABLE activity.hidden RENAME TO guilds');
  expect(await fixture.take('a', '', { guildId })).toMatchObject([{ command_id: id, attempt: 1 }]);
});

test('drain ends polls that wait with an empty answer, and loses nothing', async () => {
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

test('without notifications a poll that waits still finds its command within 5 s', async () => {
  const guildId = newGuild();
  const proxy = await startTcpProxy(Number(new URL(fixture.testDatabase.url).port));
  const direct = new URL(fixture.testDatabase.url);
  direct.port = String(proxy.port);
  const deaf = await fixture.startActivity({ DATABASE_DIRECT_URL: direct.href });
  await expectHearing(deaf);
  proxy.freezeAll();
  const woken = waiting('a', guildId, deaf);
  await expect.poll(() => openPolls(deaf)).toBe(1);
  const started = performance.now();
  const [id] = await fixture.send('a', { guildId });
  const { commands, at } = await woken;
  expect(commands).toMatchObject([{ command_id: id }]);
  expect(at - started).toBeLessThan(6_000);
  await proxy.close();
  await deaf.stop();
});

test('as many polls wait as may; one more is answered at once', async () => {
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
])('a fault in %s is told: %s', async (_name, query, path, message) => {
  const { status, body } = await fixture.poll('a', query);
  expect([status, body.details]).toEqual([400, { code: 'INVALID_REQUEST', errors: [{ path, message }] }]);
});

test('kill -9 between the lease and its answer loses nothing: the command comes again', async () => {
  const guildId = newGuild();
  const proxy = await startTcpProxy(Number(new URL(fixture.testDatabase.url).port));
  const url = new URL(fixture.testDatabase.url);
  url.port = String(proxy.port);
  await fixture.advance(Date.now() - fixture.clock.now());
  const { kill, at } = await fixture.startProcess(url.href);
  const [id] = await fixture.send('a', { guildId, ttlSeconds: 600 });
  expect(await fixture.take('nobody', '', { guildId, at })).toEqual([]);

  // Until its lease stands before the table, whose answer is to be lost.
  let told: Promise<string> | undefined;
  await fixture.database.transaction(async (transaction) => {
    await transaction.query('LOCK TABLE activity.commands');
    told = fixture.poll('a', '', { guildId, at }).then(
      () => 'an answer',
      () => 'nothing',
    );
    const waits = `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%behind AS MATERIALIZED%'`;
    await expect.poll(() => databaseRows(fixture.testDatabase.url, waits)).toHaveLength(1);
    proxy.loseAnswers();
  });
  const leased = async () => (await fixture.admin().listCommands({ guildId, limit: 1 })).commands[0]?.attempt;
  await expect.poll(leased).toBe(1);
  await kill();
  expect(await told).toBe('nothing');

  expect(await fixture.take('a', '', { guildId })).toEqual([]);
  await fixture.advance(Date.now() - fixture.clock.now() + 30_000);
  expect(await fixture.take('a', '', { guildId })).toMatchObject([{ command_id: id, attempt: 2 }]);
  await proxy.close();
}, 60_000);
