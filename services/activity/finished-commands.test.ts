import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import type { RunningService } from '#kit/service/service.ts';
import { TEST_SOURCE } from '#test/system/signed-calls.ts';
import { ActivityFixture, newGuild, PLACE } from './fixture.ts';

const fixture = new ActivityFixture();
let replica: RunningService;
beforeAll(async () => {
  await fixture.start();
  replica = await fixture.startActivity();
});
afterAll(async () => {
  await replica.stop();
  await fixture.stop();
});

const TYPES = ['command.finished'];
const KEY = TEST_SOURCE;
const SYSTEM = { kind: 'system', id: 'activity' };
const NONE = { succeeded: 0, failed: 0, rejected: 0, expired: 0, cancelled: 0 };
const finished = async (guildId: string) => (await fixture.events(guildId)).filter(({ type }) => TYPES.includes(type));
const take = async (server: string, guildId: string) =>
  (await fixture.take(server, '', { guildId })).map(({ command_id }) => command_id);
const liveServers = async (guildId: string, count: number) => {
  const servers = Array.from({ length: count }, (_, n) => `s${n}`);
  await Promise.all(servers.map((server) => fixture.beat(server, {}, { guildId })));
  return servers;
};

describe('a command for one server is finished', () => {
  test('when the server acknowledges it: one event, also if it repeats that', async () => {
    const guildId = newGuild();
    const [id = ''] = await fixture.send('a', { guildId, target: { gameId: 7001 }, type: 'kick', ttlSeconds: 60 });
    await take('a', guildId);
    expect(await finished(guildId)).toEqual([]);
    for (const key of [undefined, 'k', 'k']) await fixture.ack('a', id, {}, { guildId, ...(key && { key }) });
    const created = unixSeconds(fixture.clock.now());
    expect(await finished(guildId)).toEqual([
      {
        number: 1,
        type: 'command.finished',
        source: KEY,
        persons: ['game:7001'],
        data: {
          command_id: id,
          type: 'kick',
          target: { game_id: 7001, game_username: null },
          payload: {},
          issued_by: 'operator',
          server_id: 'a',
          place_id: null,
          state: 'finished',
          created_at: created,
          expires_at: created + 60,
          cancelled_at: null,
          outcome: { servers: 1, delivered: 1, ...NONE, succeeded: 1 },
        },
      },
    ]);
  });

  test('when it expires, by the system, and not again by a late acknowledgement', async () => {
    const guildId = newGuild();
    const [id = ''] = await fixture.send('a', { guildId, ttlSeconds: 60 });
    await take('a', guildId);
    await fixture.advance(60_000);
    const [event] = await fixture.eventsOf(guildId, TYPES, 1);
    const outcome = { servers: 1, delivered: 1, ...NONE, expired: 1 };
    expect(event).toMatchObject({ source: SYSTEM, data: { command_id: id, state: 'finished', outcome } });
    expect((await fixture.ack('a', id, {}, { guildId })).status).toBe(200);
    expect(await finished(guildId)).toHaveLength(1);
  });

  test('when it is cancelled, by the operator; a repeat of the cancellation is no event', async () => {
    const guildId = newGuild();
    const [commandId = ''] = await fixture.send('a', { guildId });
    const cancel = () => fixture.admin().cancelCommand({ guildId, commandId, actor: 'ada' });
    expect([(await cancel()).cancelled, (await cancel()).cancelled]).toEqual([1, 0]);
    await fixture.advance(3600_000);
    const outcome = { servers: 1, delivered: 0, ...NONE, cancelled: 1 };
    expect(await finished(guildId)).toMatchObject([
      { source: { kind: 'operator' }, data: { command_id: commandId, state: 'cancelled', outcome } },
    ]);
  });
});

describe('a command for several servers is finished', () => {
  test('when the last of them acknowledges it, by request or heartbeat, with their number by status', async () => {
    const guildId = newGuild();
    const servers = await liveServers(guildId, 4);
    const { commandIds } = await fixture.enqueue({ guildId });
    const [id = ''] = commandIds;
    for (const server of servers) expect(await take(server, guildId)).toEqual([id]);
    await fixture.ack('s0', id, {}, { guildId });
    await fixture.ack('s1', id, { status: 'failed' }, { guildId });
    await fixture.ack('s2', id, { status: 'rejected' }, { guildId });
    await fixture.ack('s2', id, { status: 'rejected' }, { guildId });
    expect(await finished(guildId)).toEqual([]);
    const acks = [{ command_id: id, status: 'success' }];
    for (let time = 0; time < 2; time++) await fixture.beat('s3', { acks }, { guildId });
    const outcome = { servers: 4, delivered: 4, ...NONE, succeeded: 2, failed: 1, rejected: 1 };
    expect(await finished(guildId)).toMatchObject([
      { source: KEY, data: { command_id: id, server_id: null, outcome } },
    ]);
  });

  test('once, if all acknowledge it concurrently through two replicas', async () => {
    const guildId = newGuild();
    const servers = await liveServers(guildId, 60);
    const ids = (await Promise.all([1, 2, 3].map(() => fixture.enqueue({ guildId })))).flatMap(
      ({ commandIds }) => commandIds,
    );
    for (const server of servers) await fixture.take(server, '', { guildId });
    const responses = await Promise.all(
      servers.flatMap((server, n) => {
        const at = n % 2 ? replica : undefined;
        const acks = ids.slice(1).map((command_id) => ({ command_id, status: 'success' }));
        return [
          fixture.ack(server, ids[0] ?? '', {}, { guildId, at }),
          fixture.beat(server, { acks }, { guildId, at }),
        ];
      }),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    const events = await finished(guildId);
    expect(events.map(({ data }) => data.command_id as string).toSorted()).toEqual(ids.toSorted());
    for (const { data } of events) {
      expect(data.outcome).toEqual({ servers: 60, delivered: 60, ...NONE, succeeded: 60 });
    }
  });

  test('when it expires or is cancelled before all have acknowledged it', async () => {
    const guildId = newGuild();
    await liveServers(guildId, 3);
    const [expiring = ''] = (await fixture.enqueue({ guildId, ttlSeconds: 30 })).commandIds;
    const [cancelled = ''] = (await fixture.enqueue({ guildId })).commandIds;
    for (const server of ['s0', 's1']) await take(server, guildId);
    for (const id of [expiring, cancelled]) await fixture.ack('s0', id, {}, { guildId });
    await fixture.admin().cancelCommand({ guildId, commandId: cancelled, actor: 'ada' });
    await fixture.advance(30_000);
    const [first, second] = await fixture.eventsOf(guildId, TYPES, 2);
    const delivered = { servers: 3, delivered: 2, ...NONE, succeeded: 1 };
    expect(first?.data).toMatchObject({
      command_id: cancelled,
      state: 'cancelled',
      outcome: { ...delivered, cancelled: 1 },
    });
    expect(second?.data).toMatchObject({
      command_id: expiring,
      state: 'finished',
      outcome: { ...delivered, expired: 2 },
    });
  });

  test('immediately, if no server is live; a decision that is delivered twice is one command', async () => {
    const guildId = newGuild();
    const payload = JSON.stringify({ moderator_game_id: 7002, moderator_chat_id: '920000000000000001' });
    const decision = {
      guildId,
      eventId: randomUUID(),
      target: { gameId: 7001 },
      payload,
      issuedBy: '7002',
      placeId: PLACE,
    };
    for (let time = 0; time < 2; time++) expect(await fixture.deliver(decision)).toBe(0);
    expect(await finished(guildId)).toMatchObject([
      {
        persons: ['chat:7002', 'chat:920000000000000001', 'game:7001', 'game:7002'],
        data: { type: 'ban', place_id: PLACE, outcome: { servers: 0, delivered: 0, ...NONE } },
      },
    ]);
  });
});

test('an acknowledgement that finishes a command is committed together with the event', async () => {
  const guildId = newGuild();
  const [id = ''] = await fixture.send('a', { guildId });
  await take('a', guildId);
  await fixture.database.query(
    `ALTER TABLE activity.events ADD CONSTRAINT fails CHECK (guild_id <> '${guildId}') NOT VALID`,
  );
  expect((await fixture.ack('a', id, {}, { guildId })).status).toBe(500);
  expect(await fixture.states(guildId, id)).toEqual({ a: 'leased' });
  await fixture.database.query('ALTER TABLE activity.events DROP CONSTRAINT fails');
  expect((await fixture.ack('a', id, {}, { guildId })).status).toBe(200);
  expect(await finished(guildId)).toHaveLength(1);
});

test('a backlog of 300 expired commands is reported by two replicas, each command once', async () => {
  const guildId = newGuild();
  await fixture.fillQueue(guildId, 'a', 300);
  await fixture.advance(3600_000);
  const events = await fixture.eventsOf(guildId, TYPES, 300);
  expect(new Set(events.map(({ data }) => data.command_id)).size).toBe(300);
});
