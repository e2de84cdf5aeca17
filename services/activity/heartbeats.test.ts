import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ActivityFixture, GUILD, newGuild } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const unixNow = () => Math.floor(fixture.clock.now() / 1000);

const row = async (guildId: string, serverId: string) => {
  const text = 'SELECT * FROM activity.servers WHERE guild_id = $1 AND server_id = $2';
  const [found] = await fixture.database.query(text, [guildId, serverId]);
  return found;
};

describe('a heartbeat', () => {
  test('returns the time, the interval and the commands, and all its fields are stored', async () => {
    const guildId = newGuild();
    const fields = {
      universe_id: '30001',
      player_count: 2,
      max_players: 30,
      players: [{ game_id: 7001, username: 'AdaBuilds' }, { game_id: '7002' }],
      fps: 59.94,
      age_seconds: 12.7,
      plugin_version: '2.4.0',
    };
    expect((await fixture.beat('a', fields, { guildId })).body).toEqual({
      status: 'success',
      code: 200,
      message: 'Heartbeat received',
      data: { server_time: unixNow(), next_heartbeat_seconds: 15, commands: [] },
    });
    const now = new Date(fixture.clock.now());
    expect(await row(guildId, 'a')).toEqual({
      guild_id: guildId,
      server_id: 'a',
      place_id: 40001,
      universe_id: 30001,
      player_count: 2,
      max_players: 30,
      players: [{ game_id: 7001, username: 'AdaBuilds' }, { game_id: 7002 }],
      fps: 59.94,
      age_seconds: 12,
      plugin_version: '2.4.0',
      heartbeat_at: now,
      interval_seconds: 15,
      live_until: new Date(now.getTime() + 45_000),
      is_counted: true,
      cursor: 0,
      admitted_place: 0,
    });
  });

  test('hands commands over, stores acknowledgements, and ignores unknown and repeated ones', async () => {
    const guildId = newGuild();
    const [first = '', second = ''] = (
      await Promise.all([fixture.send('a', { guildId }), fixture.send('a', { guildId })])
    ).flat();
    const { commands } = (await fixture.beat('a', {}, { guildId })).body.data;
    expect(commands.map((command: { command_id: string }) => command.command_id)).toEqual(
      expect.arrayContaining([first, second]),
    );
    const acks = [
      { command_id: first, status: 'success', result: { kicked: true } },
      { command_id: first, status: 'failed' },
      { command_id: randomUUID(), status: 'failed' },
    ];
    expect((await fixture.beat('a', { acks }, { guildId })).status).toBe(200);
    // The lease lasts until the second heartbeat from now.
    await fixture.advance(29_999);
    expect((await fixture.beat('a', {}, { guildId })).body.data.commands).toEqual([]);
    await fixture.advance(1);
    const again = (await fixture.beat('a', { acks }, { guildId })).body.data.commands;
    expect(again).toMatchObject([{ command_id: second, attempt: 2 }]);
    const { commands: listed } = await fixture.admin().listCommands({ guildId, limit: 0 });
    expect(listed.find(({ commandId }) => commandId === first)).toMatchObject({
      outcome: { succeeded: 1 },
      result: '{"kicked":true}',
    });
  });

  test('that is final ends the server and hands nothing over', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const [id = ''] = await fixture.send('a', { guildId });
    const last = await fixture.beat('a', { final: true, acks: [] }, { guildId });
    expect(last.body.data).toMatchObject({ commands: [] });
    expect((await fixture.enqueue({ guildId })).servers).toBe(0);
    expect(await fixture.take('a', '', { guildId })).toMatchObject([{ command_id: id, attempt: 1 }]);
  });

  test('returns an interval of a quarter of a second for each live server, at least 15 s and at most 300 s', async () => {
    const guildId = newGuild();
    const beats = async (from: number, to: number) => {
      const all = Array.from({ length: to - from }, (_, n) => fixture.beat(`s${from + n}`, {}, { guildId }));
      await Promise.all(all);
      return (await fixture.beat('s0', {}, { guildId })).body.data.next_heartbeat_seconds;
    };
    expect(await beats(0, 60)).toBe(15);
    expect(await beats(60, 61)).toBe(16);
    expect(await beats(61, 400)).toBe(100);
    const count = (servers: number) =>
      fixture.database.query('UPDATE activity.guilds SET live_servers = $2 WHERE guild_id = $1', [guildId, servers]);
    await count(1_600);
    expect(await beats(0, 1)).toBe(300);
    expect((await fixture.poll('s0', '', { guildId })).body.data.poll_after_seconds).toBe(300);
    // A server that ends no longer counts.
    await count(61);
    expect((await fixture.beat('s0', { final: true }, { guildId })).body.data.next_heartbeat_seconds).toBe(15);
  });

  test.each([
    ['server_id', { server_id: undefined }, 'body.server_id', 'is required'],
    ['server_id', { server_id: 'a b' }, 'body.server_id', 'must be 1 to 64 of A-Z a-z 0-9 . _ : -'],
    ['server_id', { server_id: 'x'.repeat(65) }, 'body.server_id', 'must be 1 to 64 of A-Z a-z 0-9 . _ : -'],
    ['place_id', { place_id: undefined }, 'body.place_id', 'is required'],
    ['place_id', { place_id: 0 }, 'body.place_id', 'must be a place ID: a whole number from 1 to 9007199254740991'],
    ['player_count', { player_count: -1 }, 'body.player_count', 'must be at least 0'],
    ['player_count', { player_count: 1.5 }, 'body.player_count', 'must be a whole number'],
    ['max_players', { max_players: undefined }, 'body.max_players', 'is required'],
    [
      'players',
      { players: Array.from({ length: 201 }, () => ({ game_id: 1 })) },
      'body.players',
      'must hold at most 200',
    ],
    ['players', { players: [{ game_id: 'x' }] }, 'body.players[0].game_id', expect.any(String)],
    [
      'acks',
      { acks: Array.from({ length: 51 }, () => ({ command_id: randomUUID(), status: 'success' })) },
      'body.acks',
      'must hold at most 50',
    ],
    ['acks', { acks: [{ command_id: 'x', status: 'success' }] }, 'body.acks[0].command_id', 'must be a UUID'],
    ['acks', { acks: [{ command_id: randomUUID() }] }, 'body.acks[0].status', 'is required'],
    ['fps', { fps: 'fast' }, 'body.fps', 'must be a number'],
    ['age_seconds', { age_seconds: -1 }, 'body.age_seconds', 'must be at least 0'],
    ['final', { final: 'yes' }, 'body.final', 'must be true or false'],
  ])('with a fault in %s is 400, %#', async (_name, fields, path, message) => {
    const { status, body } = await fixture.beat('a', fields);
    expect([status, body.details]).toEqual([400, { code: 'INVALID_REQUEST', errors: [{ path, message }] }]);
  });

  test('without a server ID, as in the editor, is 422 with a reason, if it has no other fault', async () => {
    const { status, body } = await fixture.beat('');
    expect([status, body.details]).toEqual([422, { code: 'NOT_APPLICABLE' }]);
    expect(body.message).toContain('editor has no job ID');
    expect((await fixture.beat('', { place_id: 'x' })).status).toBe(400);
  });

  test('accepts the JSON of Luau: IDs as strings of digits, empty tables as lists, null for missing fields', async () => {
    const guildId = newGuild();
    const fields = { place_id: '40001', players: [], acks: [], fps: null, universe_id: null, final: null };
    expect((await fixture.beat('a', fields, { guildId })).status).toBe(200);
    expect(await row(guildId, 'a')).toMatchObject({ place_id: 40001, players: [], fps: null });
  });

  test('ignores Idempotency-Key', async () => {
    const first = await fixture.beat('key', {}, { key: 'beat' });
    const again = await fixture.beat('key', { player_count: 2 }, { key: 'beat' });
    expect([first.status, again.status, again.headers.has('idempotency-replayed')]).toEqual([200, 200, false]);
  });
});

test('two concurrent heartbeats of one server both succeed, and one of them is stored', async () => {
  const guildId = newGuild();
  const both = await Promise.all([1, 2].map((count) => fixture.beat('a', { player_count: count }, { guildId })));
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  expect([1, 2]).toContain((await row(guildId, 'a'))?.['player_count']);
});

test('an acknowledgement is not changed by those of other servers for the same command', async () => {
  const own = await fixture.startActivity({ HEARTBEAT_GATHER_MS: '50' });
  const guildId = newGuild();
  const [id = ''] = await fixture.send('a', { guildId });
  await fixture.take('a', '', { guildId });
  const acknowledge = (server: string, status: string, guild = guildId) =>
    fixture.beat(server, { acks: [{ command_id: id, status }] }, { guildId: guild, at: own });
  await Promise.all([
    acknowledge('b', 'failed'),
    acknowledge('a', 'success', newGuild()),
    acknowledge('a', 'success'),
    acknowledge('c', 'failed'),
  ]);
  const { commands } = await fixture.admin().listCommands({ guildId, limit: 0 });
  expect(commands).toMatchObject([{ commandId: id, outcome: { succeeded: 1, failed: 0 } }]);
  const metrics = await (await fetch(`http://${own.addresses.admin}/metrics`)).text();
  expect(metrics).toContain('activity_commands_acknowledged_total{status="success"} 1');
  await own.stop();
});

test('a heartbeat that the database rejects fails alone', async () => {
  await fixture.database.query(
    `ALTER TABLE activity.servers ADD CONSTRAINT reject_one CHECK (server_id <> 'rejected') NOT VALID`,
  );
  const guildId = newGuild();
  const responses = await Promise.all(['a', 'rejected', 'b'].map((server) => fixture.beat(server, {}, { guildId })));
  expect(responses.map(({ status }) => status)).toEqual([200, 500, 200]);
  await fixture.database.query('ALTER TABLE activity.servers DROP CONSTRAINT reject_one');
});

test('a guild_id in the body that is not the guild of the key is 403', async () => {
  const { status, body } = await fixture.beat('a', { guild_id: newGuild() }, { guildId: GUILD });
  expect([status, body.details.code]).toEqual([403, 'GUILD_MISMATCH']);
});
