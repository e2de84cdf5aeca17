// Commands that clients of the REST API send, read and cancel.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { MAX_TTL_SECONDS } from '#proto/rest/activity/commands.ts';
import { TEST_PREFIX, TEST_SOURCE } from '#test/system/signed-calls.ts';
import { ActivityFixture, newGuild, PLACE } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const NONE = { delivered: 0, succeeded: 0, failed: 0, rejected: 0, expired: 0, cancelled: 0 };
const BROADCAST = { type: 'broadcast', payload: { text: 'Restart soon' } };
const KICK = { type: 'kick', target: { game_id: '7001', game_username: 'Ada' }, payload: { reason: 'spam' } };
const unixNow = () => unixSeconds(fixture.clock.now());

const send = (guildId: string, body: object, key?: string) =>
  fixture.post(`/guilds/${guildId}/commands`, body, { guildId, ...(key !== undefined && { key }) });
const sendAll = async (guildId: string, body: object = BROADCAST): Promise<string> =>
  (await send(guildId, { all: true, ...body })).body.data.command_id;
const list = (guildId: string, query = '') => fixture.get(`/guilds/${guildId}/commands${query}`, { guildId });
const read = (guildId: string, id: string, query = '') =>
  fixture.get(`/guilds/${guildId}/commands/${id}${query}`, { guildId });
const faultsOf = async (body: object) => {
  const response = await send(newGuild(), body);
  expect(response.status).toBe(400);
  return response.body.details.errors as { path: string; message: string }[];
};

describe('a command is sent', () => {
  test('to one server, which gets it with its type, target, payload and the prefix of the key', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const response = await send(guildId, { ...KICK, server_id: 'a', ttl_seconds: 600 });
    const id = response.body.data.command_id as string;
    expect([response.status, response.body]).toEqual([
      201,
      {
        status: 'success',
        code: 201,
        message: 'Command sent',
        data: { command_id: id, servers: 1, expires_at: unixNow() + 600 },
      },
    ]);
    expect(await fixture.take('a', '', { guildId })).toMatchObject([
      {
        command_id: id,
        type: 'kick',
        target: { game_id: 7001, game_username: 'Ada' },
        payload: { reason: 'spam' },
        issued_by: TEST_PREFIX,
        expires_at: unixNow() + 600,
      },
    ]);
  });

  test('to the live servers of a place or of the guild, and lives 120 s by default', async () => {
    const guildId = newGuild();
    for (const [server, place] of [
      ['a', PLACE],
      ['b', PLACE],
      ['c', 2],
    ]) {
      await fixture.beat(String(server), { place_id: place }, { guildId });
    }
    const place = await send(guildId, { ...BROADCAST, place_id: String(PLACE) });
    const all = await send(guildId, { ...BROADCAST, all: true });
    expect([place, all].map(({ body }) => body.data)).toEqual([
      { command_id: expect.any(String), servers: 2, expires_at: unixNow() + 120 },
      { command_id: expect.any(String), servers: 3, expires_at: unixNow() + 120 },
    ]);
    expect(await fixture.take('c', '', { guildId })).toMatchObject([{ command_id: all.body.data.command_id }]);
  });

  test('with fields in its payload that the contract does not know, which reach the server', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const payload = { reason: null, nested: { list: [1, String.raw`\u0000`] } };
    await sendAll(guildId, { type: 'kick', target: { game_id: 1 }, payload });
    await sendAll(guildId, { type: 'custom', payload: [] });
    expect((await fixture.take('a', '', { guildId })).map((command) => command.payload)).toEqual([payload, {}]);
  });

  test('once, if the request is repeated with the same Idempotency-Key', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const body = { ...BROADCAST, server_id: 'a' };
    const both = await Promise.all([send(guildId, body, 'k'), send(guildId, body, 'k')]);
    expect(both.map(({ status }) => status).filter((status) => status !== 409)).toContain(201);
    const repeat = await send(guildId, body, 'k');
    expect([repeat.status, repeat.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect((await list(guildId)).body.data.commands).toHaveLength(1);
    expect((await send(guildId, { ...body, server_id: 'b' }, 'k')).status).toBe(409);
  });

  test('to no server that is unknown or unnamed, and not beyond the limit of waiting commands', async () => {
    const guildId = newGuild();
    const unknown = await send(guildId, { ...BROADCAST, server_id: 'a' });
    expect([unknown.status, unknown.body.details.code]).toEqual([404, 'NOT_FOUND']);
    const empty = await send(guildId, { ...BROADCAST, server_id: '' });
    expect([empty.status, empty.body.details.code]).toEqual([422, 'NOT_APPLICABLE']);
    for (const final of [false, true]) await fixture.beat('a', { final }, { guildId });
    expect((await send(guildId, { ...BROADCAST, server_id: 'a' })).status).toBe(201);
    await fixture.fillQueue(guildId, 'a', 999);
    const full = await send(guildId, { ...BROADCAST, server_id: 'a' });
    expect([full.status, full.body.details.code]).toEqual([409, 'CONFLICT']);
  });

  test('only if the request is valid; all faults are reported together', async () => {
    expect(await faultsOf({ all: true, server_id: 'a', payload: 'x', ttl_seconds: 0 })).toEqual([
      { path: 'body.type', message: 'is required' },
      { path: 'body.payload', message: 'must be an object' },
      { path: 'body.ttl_seconds', message: expect.stringContaining('from 1 to 604800') },
      { path: 'body', message: 'must hold exactly one of all, server_id, place_id' },
    ]);
    const paths = async (body: object) => (await faultsOf({ all: true, ...body })).map(({ path }) => path);
    for (const type of ['kick', 'ban', 'unban', 'mute', 'unmute']) {
      expect(await paths({ type })).toEqual(['body.target']);
      expect(await paths({ type, target: {}, payload: { reason: 7 } })).toEqual([
        'body.target.game_id',
        'body.payload.reason',
      ]);
    }
    expect(await paths({ type: 'message' })).toEqual(['body.target', 'body.payload']);
    expect(await paths({ type: 'broadcast', payload: {} })).toEqual(['body.payload.text']);
    expect(await paths({ type: 'shutdown', payload: { delay_seconds: -1 } })).toEqual(['body.payload.delay_seconds']);
    expect(await paths({ type: 'dance' })).toEqual(['body.type']);
    expect(await paths({ type: 'custom', payload: { text: 'x'.repeat(8_192) } })).toEqual(['body.payload']);
    for (const text of ['\u0000', '\ud800']) {
      expect(await paths({ type: 'custom', payload: { text } })).toEqual(['body.payload']);
    }
    expect(await paths({ ...BROADCAST, ttl_seconds: MAX_TTL_SECONDS + 1 })).toEqual(['body.ttl_seconds']);
    expect((await faultsOf({ ...BROADCAST, all: false }))[0]?.path).toBe('body.all');
  });
});

describe('a command is read', () => {
  test('with its outcome and a row for each server, page by page', async () => {
    const guildId = newGuild();
    for (const server of ['a', 'b', 'c']) await fixture.beat(server, {}, { guildId });
    const id = await sendAll(guildId, KICK);
    for (const server of ['a', 'b']) await fixture.take(server, '', { guildId });
    await fixture.ack('a', id, { status: 'failed', result: [1], error: 'left' }, { guildId });
    const first = await read(guildId, id, '?limit=2');
    expect([first.status, first.body.message, first.body.data]).toEqual([
      200,
      'Command found',
      {
        command_id: id,
        type: 'kick',
        target: { game_id: 7001, game_username: 'Ada' },
        payload: { reason: 'spam' },
        issued_by: TEST_PREFIX,
        server_id: null,
        place_id: null,
        state: 'open',
        created_at: unixNow(),
        expires_at: unixNow() + 120,
        cancelled_at: null,
        outcome: { servers: 3, ...NONE, delivered: 2, failed: 1 },
        servers: [
          { server_id: 'a', state: 'failed', attempt: 1, acked_at: unixNow(), result: [1], error: 'left' },
          { server_id: 'b', state: 'leased', attempt: 1, acked_at: null, result: null, error: null },
        ],
        next_cursor: expect.any(String),
      },
    ]);
    const cursor = first.body.data.next_cursor as string;
    const second = await read(guildId, id, `?limit=2&cursor=${cursor}`);
    expect([second.body.data.servers, second.body.data.next_cursor]).toEqual([
      [{ server_id: 'c', state: 'queued', attempt: 0, acked_at: null, result: null, error: null }],
      null,
    ]);
    const other = await sendAll(guildId);
    expect((await read(guildId, other, `?cursor=${cursor}`)).status).toBe(400);
  });

  test('for one server, with that server as its only row', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const id = (await send(guildId, { ...BROADCAST, server_id: 'a' })).body.data.command_id as string;
    await fixture.advance(120_000);
    const { data } = (await read(guildId, id, '?limit=1')).body;
    expect([data.state, data.server_id, data.outcome.expired, data.next_cursor]).toEqual(['finished', 'a', 1, null]);
    expect(data.servers).toMatchObject([{ server_id: 'a', state: 'expired', attempt: 0 }]);
  });

  test('only by its own guild', async () => {
    const guildId = newGuild();
    const id = await sendAll(guildId);
    for (const unknown of [read(newGuild(), id), read(guildId, randomUUID()), fixture.cancel(id)]) {
      const { status, body } = await unknown;
      expect([status, body.details.code]).toEqual([404, 'NOT_FOUND']);
    }
    expect((await read(guildId, 'x')).body.details.errors).toEqual([
      { path: 'path.commandId', message: 'must be a UUID' },
    ]);
  });
});

describe('a list of commands', () => {
  test('has the newest first, and pages that stay the same while commands are sent', async () => {
    const guildId = newGuild();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift(await sendAll(guildId));
    const seen: string[] = [];
    let query = '?limit=2';
    for (let page = 0; page < 3; page++) {
      const { commands, next_cursor: cursor } = (await list(guildId, query)).body.data;
      seen.push(...(commands as { command_id: string }[]).map(({ command_id: id }) => id));
      await sendAll(guildId);
      query = `?limit=2&cursor=${cursor}`;
      expect(cursor === null).toBe(page === 2);
    }
    expect(seen).toEqual(ids);
    const { next_cursor: cursor } = (await list(guildId, '?limit=1')).body.data;
    for (const wrong of [`?cursor=${cursor}&state=open`, '?cursor=x', '?state=done', '?limit=101']) {
      expect((await list(guildId, wrong)).status).toBe(400);
    }
    expect((await list(newGuild(), `?cursor=${cursor}`)).status).toBe(400);
    expect((await list(newGuild())).body.data).toEqual({ commands: [], next_cursor: null });
  });

  test('in one state has exactly the commands that show that state', async () => {
    const guildId = newGuild();
    const empty = await sendAll(guildId);
    for (const server of ['a', 'b']) await fixture.beat(server, {}, { guildId });
    const expiring = await sendAll(guildId, { ...BROADCAST, ttl_seconds: 5 });
    const [open, cancelled, acked] = [await sendAll(guildId), await sendAll(guildId), await sendAll(guildId)];
    for (const server of ['a', 'b']) await fixture.ack(server, acked, {}, { guildId });
    await fixture.take('a', '', { guildId });
    await fixture.take('b', '', { guildId });
    for (const server of ['a', 'b']) await fixture.ack(server, acked, {}, { guildId });
    const late = await sendAll(guildId);
    await fixture.cancel(late, { guildId });
    await fixture.advance(5_000);
    await fixture.eventsOf(guildId, ['command.finished'], 4);
    const inState = async (state: string) => {
      const { commands } = (await list(guildId, `?state=${state}`)).body.data;
      for (const command of commands) expect(command.state).toBe(state);
      return (commands as { command_id: string }[]).map(({ command_id: id }) => id);
    };
    expect(await inState('open')).toEqual([cancelled, open]);
    expect(await inState('finished')).toEqual([acked, expiring, empty]);
    expect(await inState('cancelled')).toEqual([late]);
  });
});

describe('a command is cancelled', () => {
  test('for the servers that have not received it, with one event of the key', async () => {
    const guildId = newGuild();
    for (const server of ['a', 'b', 'c']) await fixture.beat(server, {}, { guildId });
    const id = await sendAll(guildId);
    await fixture.take('a', '', { guildId });
    const cancel = (key?: string) => fixture.cancel(id, { guildId, ...(key !== undefined && { key }) });
    const first = await cancel('k');
    expect(first.body).toEqual({ status: 'success', code: 200, message: 'Command cancelled', data: { cancelled: 2 } });
    expect((await cancel('k')).body).toEqual(first.body);
    expect((await cancel()).body.data).toEqual({ cancelled: 0 });
    expect(await fixture.take('b', '', { guildId })).toEqual([]);
    const { data } = (await read(guildId, id)).body;
    expect(data).toMatchObject({ state: 'cancelled', outcome: { servers: 3, ...NONE, delivered: 1, cancelled: 2 } });
    expect(data.servers).toMatchObject([{ state: 'leased' }, { state: 'cancelled' }, { state: 'cancelled' }]);
    expect(await fixture.events(guildId)).toMatchObject([
      ...['a', 'b', 'c'].map(() => ({ type: 'server.online' })),
      { type: 'command.finished', source: TEST_SOURCE, data: { command_id: id } },
    ]);
  });

  test('also through the record of the operator: both see the same commands', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const id = await sendAll(guildId);
    const { commandIds } = await fixture.enqueue({ guildId });
    const { commands } = (await list(guildId)).body.data;
    expect(commands).toMatchObject([
      { command_id: commandIds[0], issued_by: 'operator' },
      { command_id: id, issued_by: TEST_PREFIX },
    ]);
    const { cancelled } = await fixture.admin().cancelCommand({ guildId, commandId: id, actor: 'ada' });
    expect([cancelled, (await read(guildId, id)).body.data.state]).toEqual([1, 'cancelled']);
  });
});

test('a command and the event of a command without servers are committed together', async () => {
  const guildId = newGuild();
  const alter = (change: string) => fixture.database.query(`ALTER TABLE activity.events ${change}`);
  await alter(`ADD CONSTRAINT fails CHECK (guild_id <> '${guildId}') NOT VALID`);
  expect((await send(guildId, { ...BROADCAST, all: true }, 'k')).status).toBe(500);
  expect((await list(guildId)).body.data.commands).toEqual([]);
  await alter('DROP CONSTRAINT fails');
  expect((await send(guildId, { ...BROADCAST, all: true }, 'k')).status).toBe(201);
  expect(await fixture.events(guildId)).toMatchObject([{ type: 'command.finished', source: { id: TEST_PREFIX } }]);
});
