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
  test('a command has all its fields, and is leased for 30 s', async () => {
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

  test('a command without a target or a payload has null and {}', async () => {
    const server = newServer();
    await fixture.send(server, { payload: '' });
    expect(await fixture.take(server)).toMatchObject([{ type: 'message', target: null, payload: {} }]);
  });

  test('first in, first out; a leased command holds none back, and comes first when it comes again', async () => {
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

  test('a command comes again until it is acknowledged, and not after', async () => {
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

  test('a command that has expired is not handed over any more', async () => {
    const server = newServer();
    await fixture.send(server, { ttlSeconds: 10 });
    await fixture.advance(10_000);
    expect(await fixture.take(server)).toEqual([]);
  });

  test('8 polls at once never get the same command, and together get all', async () => {
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
    // Who came while another was choosing may have got fewer; what is left is not lost.
    const rest = idsOf(await fixture.take(server, '?limit=50'));
    expect([...taken.flat(), ...rest].toSorted()).toEqual(sent.toSorted());
    for (const own of taken) expect(own).toEqual(sent.filter((id) => own.includes(id)));
    await other.stop();
  });

  test('20 at once unless told otherwise, 50 at most; an unknown server reads as one without commands', async () => {
    const server = newServer();
    for (let count = 0; count < 71; count++) await fixture.send(server);
    expect(await fixture.take(server)).toHaveLength(20);
    expect(await fixture.take(server, '?limit=50')).toHaveLength(50);
    expect(await fixture.take('never-seen')).toEqual([]);
  });

  test("a guild's server gets nothing that is for another guild's server of the same name", async () => {
    const server = newServer();
    await fixture.send(server);
    expect(await fixture.take(server, '', { guildId: OTHER_GUILD })).toEqual([]);
  });
});

describe('who gets a command', () => {
  test('one for a place or a whole guild is one command, which each live server gets', async () => {
    const guildId = newGuild();
    const beat = (server: string, fields: object = {}) => fixture.beat(server, fields, { guildId });
    await Promise.all([beat('a'), beat('b', { place_id: 2 }), beat('gone', { final: true })]);
    const toAll = await fixture.enqueue({ guildId });
    const toPlace = await fixture.enqueue({ guildId, servers: { $case: 'placeId', value: 2 } });
    expect([toAll.servers, toPlace.servers]).toEqual([2, 1]);
    const [allId, placeId] = [...toAll.commandIds, ...toPlace.commandIds];
    const taken = await Promise.all(['a', 'b', 'gone'].map((server) => fixture.take(server, '', { guildId })));
    expect(taken.map(idsOf)).toEqual([[allId], [allId, placeId], []]);
    const toNone = await fixture.enqueue({ guildId, servers: { $case: 'placeId', value: 3 } });
    expect([toNone.commandIds.length, toNone.servers]).toEqual([1, 0]);
  });

  test('a server that has been silent for three times its interval is not live, and may still be named', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    await fixture.advance(44_999);
    expect((await fixture.enqueue({ guildId })).servers).toBe(1);
    await fixture.advance(1);
    expect((await fixture.enqueue({ guildId })).servers).toBe(0);
    expect(await fixture.send('a', { guildId })).toHaveLength(1);
  });

  test('a command lives for its ttl, else for 120 s or 4 times the interval that its server was told', async () => {
    const guildId = newGuild();
    await Promise.all(Array.from({ length: 200 }, (_, n) => fixture.beat(`s${n}`, {}, { guildId })));
    expect((await fixture.beat('s0', {}, { guildId })).body.data.next_heartbeat_seconds).toBe(50);
    await fixture.send('s0', { guildId });
    await fixture.send('s0', { guildId, ttlSeconds: 7 });
    const lives = (await fixture.take('s0', '', { guildId })).map(
      (command) => Number(command['expires_at']) - unixNow(),
    );
    expect(lives).toEqual([200, 7]);
  });

  test('a decision reaches each live server of its place once, but not the one that it came from', async () => {
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

  test('a decision that comes late reaches who was live when it was made, though nobody could beat since', async () => {
    const guildId = newGuild();
    await Promise.all([fixture.beat('a', {}, { guildId }), fixture.beat('gone', { final: true }, { guildId })]);
    await fixture.advance(1_000);
    const createdAt = unixNow();
    await fixture.advance(60_000);
    expect(await fixture.deliver({ guildId, createdAt: unixNow() })).toBe(0);
    expect(await fixture.deliver({ guildId, createdAt })).toBe(1);
    expect(await fixture.take('a', '', { guildId })).toMatchObject([{ type: 'ban' }]);
  });

  test('a decision is told no longer than it is of use', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    for (const seconds of [60, 3_600]) await fixture.deliver({ guildId, expiresAt: unixNow() + seconds });
    expect(await fixture.deliver({ guildId, expiresAt: unixNow() })).toBe(0);
    const lives = (await fixture.take('a', '', { guildId })).map(
      (command) => Number(command['expires_at']) - unixNow(),
    );
    expect(lives).toEqual([60, 120]);
  });
});

describe('acknowledging', () => {
  test('is answered with the status and the time, the same again likewise, another is a conflict', async () => {
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

  test('of 8 at once with two statuses one status wins, and all who said it are told so', async () => {
    const server = newServer();
    const [id = ''] = await fixture.send(server);
    const statuses = ['success', 'rejected'];
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => fixture.ack(server, id, { status: statuses[index % 2] })),
    );
    const count = (code: number) => answers.filter(({ status }) => status === code).length;
    expect([count(200), count(409)]).toEqual([4, 4]);
  });

  test('a command that is unknown, of another server or of another guild is not found', async () => {
    const server = newServer();
    const [id = ''] = await fixture.send(server);
    const answers = await Promise.all([
      fixture.ack(server, randomUUID()),
      fixture.ack(newServer(), id),
      fixture.ack(server, id, {}, { guildId: OTHER_GUILD }),
    ]);
    for (const { status, body } of answers) {
      expect([status, body.details.code, body.message]).toEqual([404, 'NOT_FOUND', 'No such command for this server']);
    }
  });

  test('any JSON is a result, and an Idempotency-Key gives the first answer again', async () => {
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
  ])('a fault in %s is told', async (_name, fields, path, message) => {
    const { status, body } = await fixture.ack('a', randomUUID(), fields);
    expect([status, body.details]).toEqual([400, { code: 'INVALID_REQUEST', errors: [{ path, message }] }]);
  });

  test('malformed IDs in the path are told, and Luau’s capitals and empty tables are taken', async () => {
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
