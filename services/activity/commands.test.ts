import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ActivityFixture, newGuild, OTHER_GUILD, PLACE } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const newServer = () => `server-${++lastServer}`;
let lastServer = 0;

const idsOf = (commands: { command_id: string }[]) => commands.map(({ command_id: id }) => id);
const unixNow = () => Math.floor(fixture.clock.now() / 1000);

describe('handing over', () => {
  test('a command has all its fields and is leased for 30 s', async () => {
    const server = newServer();
    const [id] = await fixture.send(server, {
      type: 'kick',
      target: { gameId: 7001, gameUsername: 'AdaBuilds' },
      payload: '{"reason":"spam"}',
    });
    const { status, body } = await fixture.poll(server);
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'success',
      code: 200,
      message: 'Commands polled',
      data: {
        commands: [
          {
            command_id: id,
            type: 'kick',
            target: { game_id: 7001, game_username: 'AdaBuilds' },
            payload: { reason: 'spam' },
            issued_by: 'operator',
            created_at: unixNow(),
            expires_at: unixNow() + 120,
            attempt: 1,
            lease_expires_at: unixNow() + 30,
          },
        ],
        poll_after_seconds: 15,
      },
    });
    expect(await fixture.take(server)).toEqual([]);
  });

  test('a command without target and payload has the values null and {}', async () => {
    const server = newServer();
    await fixture.send(server, { payload: '' });
    expect(await fixture.take(server)).toMatchObject([{ type: 'message', target: null, payload: {} }]);
  });

  test('is first in, first out; a leased command delays no other, and is first again after its lease', async () => {
    const server = newServer();
    const [first, second] = [await fixture.send(server), await fixture.send(server)].flat();
    expect(idsOf(await fixture.take(server, '?limit=1'))).toEqual([first]);
    expect(idsOf(await fixture.take(server, '?limit=1'))).toEqual([second]);
    const [third] = await fixture.send(server);
    await fixture.advance(30_000);
    const again = await fixture.take(server);
    expect(again.map((command) => [command.command_id, command.attempt])).toEqual([
      [first, 2],
      [second, 2],
      [third, 1],
    ]);
  });

  test('a command is handed over again until it is acknowledged', async () => {
    const server = newServer();
    const [id = ''] = await fixture.send(server, { ttlSeconds: 600 });
    for (const attempt of [1, 2, 3]) {
      expect(await fixture.take(server)).toMatchObject([{ command_id: id, attempt }]);
      await fixture.advance(29_999);
      expect(await fixture.take(server)).toEqual([]);
      await fixture.advance(1);
    }
    expect((await fixture.ack(server, id)).status).toBe(200);
    expect(await fixture.take(server)).toEqual([]);
  });

  test('an expired command is not handed over', async () => {
    const server = newServer();
    await fixture.send(server, { ttlSeconds: 10 });
    await fixture.advance(10_000);
    expect(await fixture.take(server)).toEqual([]);
  });

  test('8 concurrent polls never get the same command, and together they get all', async () => {
    const server = newServer();
    const sent: string[] = [];
    for (let count = 0; count < 40; count++) sent.push(...(await fixture.send(server)));
    const other = await fixture.startActivity();
    const replicas = [fixture.activity, other];
    const polls = Array.from({ length: 8 }, (_, index) =>
      fixture.take(server, '?limit=5', { at: replicas[index % 2] }),
    );
    const taken = (await Promise.all(polls)).map(idsOf);
    expect(new Set(taken.flat()).size).toBe(taken.flat().length);
    // A poll may get fewer while another one leases commands; the rest is not lost.
    const rest = idsOf(await fixture.take(server, '?limit=50'));
    expect([...taken.flat(), ...rest].toSorted()).toEqual(sent.toSorted());
    for (const own of taken) expect(own).toEqual(sent.filter((id) => own.includes(id)));
    await other.stop();
  });

  test('returns 20 commands by default and 50 at most; an unknown server gets none', async () => {
    const server = newServer();
    for (let count = 0; count < 71; count++) await fixture.send(server);
    expect(await fixture.take(server)).toHaveLength(20);
    expect(await fixture.take(server, '?limit=50')).toHaveLength(50);
    expect(await fixture.take('never-seen')).toEqual([]);
  });

  test('a server gets no command of a server with the same ID in another guild', async () => {
    const server = newServer();
    await fixture.send(server);
    expect(await fixture.take(server, '', { guildId: OTHER_GUILD })).toEqual([]);
  });
});

describe('the recipients of a command', () => {
  test('each live server gets a command for its place or guild, which is one command', async () => {
    const guildId = newGuild();
    const beat = (server: string, fields: object = {}) => fixture.beat(server, fields, { guildId });
    await Promise.all([beat('a'), beat('b', { place_id: 2 }), beat('ended', { final: true })]);
    const toAll = await fixture.enqueue({ guildId });
    const toPlace = await fixture.enqueue({ guildId, servers: { $case: 'placeId', value: 2 } });
    expect([toAll.servers, toPlace.servers]).toEqual([2, 1]);
    const [allId, placeId] = [...toAll.commandIds, ...toPlace.commandIds];
    const taken = await Promise.all(['a', 'b', 'ended'].map((server) => fixture.take(server, '', { guildId })));
    expect(taken.map(idsOf)).toEqual([[allId], [allId, placeId], []]);
    const toNone = await fixture.enqueue({ guildId, servers: { $case: 'placeId', value: 3 } });
    expect([toNone.commandIds.length, toNone.servers]).toEqual([1, 0]);
  });

  test('a server that sent nothing for three intervals is not live, but can still be named', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    await fixture.advance(44_999);
    expect((await fixture.enqueue({ guildId })).servers).toBe(1);
    await fixture.advance(1);
    expect((await fixture.enqueue({ guildId })).servers).toBe(0);
    expect(await fixture.send('a', { guildId })).toHaveLength(1);
  });

  test('a command lives for its ttl, by default 4 times the heartbeat interval and at least 120 s', async () => {
    const guildId = newGuild();
    await Promise.all(Array.from({ length: 200 }, (_, n) => fixture.beat(`s${n}`, {}, { guildId })));
    expect((await fixture.beat('s0', {}, { guildId })).body.data.next_heartbeat_seconds).toBe(50);
    await fixture.send('s0', { guildId });
    await fixture.send('s0', { guildId, ttlSeconds: 7 });
    const lifetimes = (await fixture.take('s0', '', { guildId })).map(
      (command) => Number(command['expires_at']) - unixNow(),
    );
    expect(lifetimes).toEqual([200, 7]);
  });

  test('each live server of its place gets a decision once, except the server that it came from', async () => {
    const guildId = newGuild();
    const beat = (server: string, fields: object = {}) => fixture.beat(server, fields, { guildId });
    await Promise.all([beat('a'), beat('b', { place_id: 2 }), beat('source')]);
    const decision = {
      guildId,
      eventId: randomUUID(),
      type: 'ban',
      target: { gameId: 7001 },
      payload: '{"reason":"x"}',
      issuedBy: '920000000000000001',
      sourceServerId: 'source',
    };
    expect(await fixture.deliver(decision)).toBe(2);
    expect(await fixture.deliver(decision)).toBe(2);
    expect(await fixture.take('a', '', { guildId })).toMatchObject([
      { type: 'ban', target: { game_id: 7001, game_username: null }, issued_by: '920000000000000001' },
    ]);
    expect(await fixture.take('b', '', { guildId })).toHaveLength(1);
    expect(await fixture.take('source', '', { guildId })).toEqual([]);
    expect(await fixture.deliver({ guildId, placeId: PLACE })).toBe(2);
    expect(await fixture.deliver({ guildId, placeId: 3 })).toBe(0);
  });

  test('a late decision reaches servers that were live when it was made and could not send heartbeats since', async () => {
    const guildId = newGuild();
    await Promise.all([fixture.beat('a', {}, { guildId }), fixture.beat('ended', { final: true }, { guildId })]);
    await fixture.advance(1_000);
    const createdAt = unixNow();
    await fixture.advance(60_000);
    expect(await fixture.deliver({ guildId, createdAt: unixNow() })).toBe(0);
    expect(await fixture.deliver({ guildId, createdAt })).toBe(1);
    expect(await fixture.take('a', '', { guildId })).toMatchObject([{ type: 'ban' }]);
  });

  test('the command of a decision expires with the ban at the latest', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    for (const seconds of [60, 3_600]) await fixture.deliver({ guildId, expiresAt: unixNow() + seconds });
    expect(await fixture.deliver({ guildId, expiresAt: unixNow() })).toBe(0);
    const lifetimes = (await fixture.take('a', '', { guildId })).map(
      (command) => Number(command['expires_at']) - unixNow(),
    );
    expect(lifetimes).toEqual([60, 120]);
  });
});

describe('acknowledging', () => {
  test('returns status and time; a repeat returns the same, another status is a conflict', async () => {
    const server = newServer();
    const [id = ''] = await fixture.send(server);
    await fixture.take(server);
    const first = await fixture.ack(server, id, { status: 'failed', result: { left: true }, error: 'The player left' });
    const data = { command_id: id, status: 'failed', acked_at: unixNow() };
    expect(first).toMatchObject({ status: 200, body: { message: 'Command acknowledged', data } });
    await fixture.advance(5_000);
    expect((await fixture.ack(server, id, { status: 'failed' })).body.data).toEqual(data);
    const other = await fixture.ack(server, id, { status: 'success' });
    expect(other).toMatchObject({ status: 409, body: { details: { code: 'CONFLICT' } } });
    expect(other.body.message).toBe('The command was acknowledged as failed');
  });

  test('one of two statuses wins among 8 concurrent requests, and those with that status succeed', async () => {
    const server = newServer();
    const [id = ''] = await fixture.send(server);
    const statuses = ['success', 'rejected'];
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) => fixture.ack(server, id, { status: statuses[index % 2] })),
    );
    const count = (code: number) => responses.filter(({ status }) => status === code).length;
    expect([count(200), count(409)]).toEqual([4, 4]);
  });

  test('is 404 for a command that is unknown, or of another server or guild', async () => {
    const server = newServer();
    const [id = ''] = await fixture.send(server);
    const responses = await Promise.all([
      fixture.ack(server, randomUUID()),
      fixture.ack(newServer(), id),
      fixture.ack(server, id, {}, { guildId: OTHER_GUILD }),
    ]);
    for (const { status, body } of responses) {
      expect([status, body.details.code, body.message]).toEqual([404, 'NOT_FOUND', 'No such command for this server']);
    }
  });

  test('accepts any JSON as a result; a repeat with the same Idempotency-Key returns the first response', async () => {
    const server = newServer();
    for (const result of [null, [], {}, 'text', 0, false, { nested: ['\u0000', '\ud800'] }]) {
      const [id = ''] = await fixture.send(server);
      const key = randomUUID();
      const first = await fixture.ack(server, id, { result }, { key });
      const again = await fixture.ack(server, id, { result }, { key });
      expect([first.status, again.status]).toEqual([200, 200]);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
    }
  });

  test.each([
    ['status', { status: 'done' }, 'body.status', 'must be one of success, failed, rejected'],
    ['a missing status', { status: undefined }, 'body.status', 'is required'],
    ['error', { error: 'x'.repeat(1_001) }, 'body.error', 'must have 0 to 1000 characters'],
    ['guild', { guild_id: undefined }, 'body.guild_id', 'is required'],
  ])('reports a fault in %s', async (_name, fields, path, message) => {
    const { status, body } = await fixture.ack('a', randomUUID(), fields);
    expect([status, body.details]).toEqual([400, { code: 'INVALID_REQUEST', errors: [{ path, message }] }]);
  });

  test("reports malformed IDs in the path, and accepts Luau's capital letters and empty tables", async () => {
    const { status, body } = await fixture.ack('a%20b', 'nonsense');
    expect(status).toBe(400);
    expect(body.details.errors.map((fault: { path: string }) => fault.path)).toEqual([
      'path.serverId',
      'path.commandId',
    ]);
    const server = newServer();
    const [id = ''] = await fixture.send(server);
    expect((await fixture.ack(server, id.toUpperCase(), { result: [] })).body.data.command_id).toBe(id);
  });
});
