import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

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

const idsOf = (commands: { command_id: string }[]) => commands.map(({ command_id: id }) => id);
const rows = async (table: string, guildId: string) =>
  (
    await fixture.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM activity.${table} WHERE guild_id = $1`,
      [guildId],
    )
  )[0]?.count;
const send = async (guildId: string, fields: object = {}) =>
  (await fixture.enqueue({ guildId, ...fields })).commandIds[0] ?? '';
const take = async (server: string, guildId: string, query = '') =>
  idsOf(await fixture.take(server, query, { guildId }));

test('a command is one row, however many servers it is for, plus a row for each server that fetched it', async () => {
  const guildId = newGuild();
  const servers = Array.from({ length: 50 }, (_, n) => `s${n}`);
  await Promise.all(servers.map((server) => fixture.beat(server, {}, { guildId })));
  expect(await fixture.deliver({ guildId })).toBe(50);
  expect([await rows('commands', guildId), await rows('deliveries', guildId)]).toEqual([1, 0]);
  await Promise.all(['s0', 's1'].map((server) => take(server, guildId)));
  expect([await rows('commands', guildId), await rows('deliveries', guildId)]).toEqual([1, 2]);
});

describe('a command for several servers', () => {
  test('is not for a server that becomes live later', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const id = await send(guildId, { type: 'shutdown' });
    expect((await fixture.beat('new', {}, { guildId })).body.data.commands).toEqual([]);
    expect(await take('new', guildId)).toEqual([]);
    expect(await take('a', guildId)).toEqual([id]);
    const next = await send(guildId);
    expect(await take('new', guildId)).toEqual([next]);
  });

  test('is for a server that was live when it was sent, lapsed, and returned', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const before = await send(guildId, { ttlSeconds: 3_600 });
    await fixture.advance(45_000);
    const missed = await send(guildId, { ttlSeconds: 3_600 });
    const { commands } = (await fixture.beat('a', {}, { guildId })).body.data;
    expect(idsOf(commands)).toEqual([before]);
    expect(await fixture.states(guildId, before)).toEqual({ a: 'leased' });
    expect(await fixture.states(guildId, missed)).toEqual({});
    const after = await send(guildId);
    expect(await take('a', guildId)).toEqual([after]);
  });

  test('that was reserved for a returning server is not lost when the server lapses again', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const first = await send(guildId, { ttlSeconds: 3_600 });
    for (let count = 0; count < 3; count++) {
      await fixture.advance(45_000);
      // The server becomes live again, but does not fetch its command.
      await fixture.beat('a', { final: count === 1 }, { guildId });
    }
    expect(await rows('deliveries', guildId)).toBe(1);
    await fixture.advance(60_000);
    expect(await take('a', guildId)).toEqual([first]);
  });

  test('that was sent after a server ended is not for it, but one that was sent before is', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const before = await send(guildId, { ttlSeconds: 3_600 });
    await fixture.advance(1_000);
    await fixture.beat('a', { final: true }, { guildId });
    await fixture.advance(1_000);
    await send(guildId, { ttlSeconds: 3_600 });
    expect(await take('a', guildId)).toEqual([before]);
    expect(await take('a', guildId)).toEqual([]);
  });

  test('is leased, acknowledged and handed over again separately for each server', async () => {
    const guildId = newGuild();
    for (const server of ['a', 'b']) await fixture.beat(server, {}, { guildId });
    const id = await send(guildId, { ttlSeconds: 600 });
    expect(await take('a', guildId)).toEqual([id]);
    await fixture.advance(20_000);
    expect(await take('b', guildId)).toEqual([id]);
    expect((await fixture.ack('a', id, { status: 'failed' }, { guildId })).status).toBe(200);
    expect((await fixture.ack('a', id, { status: 'success' }, { guildId })).status).toBe(409);
    await fixture.advance(29_999);
    expect(await take('b', guildId)).toEqual([]);
    await fixture.advance(1);
    expect(await fixture.take('b', '', { guildId })).toMatchObject([{ command_id: id, attempt: 2 }]);
    expect(await take('a', guildId)).toEqual([]);
    expect(await fixture.states(guildId, id)).toEqual({ a: 'failed', b: 'leased' });
    expect((await fixture.ack('c', id, {}, { guildId })).status).toBe(404);
  });

  test('shares one queue with commands for the named server, the oldest first', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) {
      ids.push(await send(guildId, { ttlSeconds: 600 }));
      ids.push(...(await fixture.send('a', { guildId, ttlSeconds: 600 })));
    }
    expect(await take('a', guildId, '?limit=1')).toEqual([ids[0]]);
    expect(await take('a', guildId, '?limit=2')).toEqual([ids[1], ids[2]]);
    await fixture.advance(30_000);
    // Commands whose lease has ended come first.
    expect(await take('a', guildId, '?limit=4')).toEqual(ids.slice(0, 4));
    expect(await take('a', guildId)).toEqual(ids.slice(4));
  });

  test('is never skipped by the cursor of a server that fetches one at a time', async () => {
    const guildId = newGuild();
    await Promise.all([fixture.beat('a', {}, { guildId }), fixture.beat('b', { place_id: 2 }, { guildId })]);
    const expected: string[] = [];
    const taken: string[] = [];
    for (let round = 0; round < 10; round++) {
      const toPlace = () => send(guildId, { servers: { $case: 'placeId', value: 2 } });
      const [mine] = await Promise.all([send(guildId), toPlace(), toPlace(), take('b', guildId)]);
      expected.push(mine);
      taken.push(...(await take('a', guildId, '?limit=1')));
    }
    expect(taken).toEqual(expected);
  });

  test('is handed over once to each server while two processes concurrently send and lease commands', async () => {
    const guildId = newGuild();
    const servers = Array.from({ length: 8 }, (_, n) => `s${n}`);
    await Promise.all(servers.map((server) => fixture.beat(server, {}, { guildId })));
    const taken = new Map<string, string[]>(servers.map((server) => [server, []]));
    const fetching = async (at: RunningService) => {
      for (let round = 0; round < 10; round++) {
        await Promise.all(
          servers.map(async (server) =>
            taken.get(server)?.push(...idsOf(await fixture.take(server, '?limit=3', { guildId, at }))),
          ),
        );
      }
    };
    const sending = async (at: RunningService) => {
      const ids: string[] = [];
      for (let count = 0; count < 10; count++) ids.push(...(await fixture.enqueue({ guildId }, at)).commandIds);
      return ids;
    };
    const [first, second] = await Promise.all([
      sending(fixture.activity),
      sending(other),
      fetching(fixture.activity),
      fetching(other),
    ]);
    const all = [...first, ...second].toSorted();
    for (const server of servers) {
      const own = [...(taken.get(server) ?? []), ...(await take(server, guildId, '?limit=50'))];
      expect(own.toSorted()).toEqual(all);
    }
  });

  test('is leased for twice the heartbeat interval in the response to a heartbeat', async () => {
    const guildId = newGuild();
    await Promise.all(Array.from({ length: 80 }, (_, n) => fixture.beat(`s${n}`, {}, { guildId })));
    await send(guildId);
    const { next_heartbeat_seconds: interval, commands } = (await fixture.beat('s0', {}, { guildId })).body.data;
    expect(interval).toBe(20);
    expect(commands[0].lease_expires_at).toBe(Math.floor(fixture.clock.now() / 1000) + 40);
  });

  test('has an outcome that counts its servers, in the end also those that never fetched it', async () => {
    const guildId = newGuild();
    const servers = ['ok', 'failed', 'rejected', 'silent', 'absent'];
    for (const server of servers) await fixture.beat(server, {}, { guildId });
    const id = await send(guildId, { ttlSeconds: 600 });
    for (const server of servers.slice(0, 4)) await take(server, guildId);
    for (const [server, status] of [
      ['ok', 'success'],
      ['failed', 'failed'],
      ['rejected', 'rejected'],
    ] as const)
      await fixture.ack(server, id, { status }, { guildId });
    const read = async () =>
      (await fixture.admin().readCommand({ guildId, commandId: id, limit: 0, cursor: '' })).command;
    const counts = { servers: 5, delivered: 4, succeeded: 1, failed: 1, rejected: 1, cancelled: 0 };
    expect(await read()).toMatchObject({ state: 'open', outcome: { ...counts, expired: 0 } });
    await fixture.advance(600_000);
    expect(await read()).toMatchObject({ state: 'finished', outcome: { ...counts, expired: 2 } });
  });
});

test('a decision that the previous release stored as a row for each server is not sent again', async () => {
  const guildId = newGuild();
  for (const server of ['a', 'b']) await fixture.beat(server, {}, { guildId });
  const eventId = randomUUID();
  await fixture.database.query(
    `INSERT INTO activity.commands (guild_id, server_id, event_id, type, payload, created_at, expires_at)
     SELECT $1, server, $2, 'ban', '{}', $3, $3::timestamptz + interval '2 minutes' FROM unnest($4::text[]) AS server`,
    [guildId, eventId, new Date(fixture.clock.now()), ['a', 'b']],
  );
  expect(await fixture.deliver({ guildId, eventId })).toBe(2);
  expect(await rows('commands', guildId)).toBe(2);
  const taken = await Promise.all(['a', 'b'].map((server) => take(server, guildId)));
  expect(taken.map(({ length }) => length)).toEqual([1, 1]);
  expect((await fixture.ack('a', taken[0]?.[0] ?? '', {}, { guildId })).status).toBe(200);
});

test('a server that the previous release stored gets commands after its next heartbeat', async () => {
  const guildId = newGuild();
  await fixture.beat('known', {}, { guildId });
  const now = new Date(fixture.clock.now());
  await fixture.database.query(
    `INSERT INTO activity.servers (guild_id, server_id, place_id, player_count, max_players, heartbeat_at,
       interval_seconds, live_until)
     VALUES ($1, 'old', 40001, 1, 1, $2, 15, $2::timestamptz + interval '45 seconds')`,
    [guildId, now],
  );
  const id = await send(guildId);
  expect(await take('old', guildId)).toEqual([]);
  const { commands } = (await fixture.beat('old', {}, { guildId })).body.data;
  expect(idsOf(commands)).toEqual([id]);
});

test('of a large result only the size is stored, and the command is acknowledged', async () => {
  const guildId = newGuild();
  const [id = ''] = await fixture.send('a', { guildId });
  const result = { text: 'x'.repeat(5_000) };
  expect((await fixture.ack('a', id, { result }, { guildId })).status).toBe(200);
  const { commands } = await fixture.admin().listCommands({ guildId, limit: 1 });
  expect(commands[0]?.result).toBe(JSON.stringify({ truncated: true, bytes: 5_011 }));
});
