import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { ActivityFixture, newGuild } from './fixture.ts';
import { admissionsOf, heartbeatOf } from './fixtures/admissions.ts';
import { saveHeartbeats } from './store/servers.ts';

const MAX = 5;

const fixture = new ActivityFixture();
let small: RunningService;
let other: RunningService;
beforeAll(async () => {
  await fixture.start();
  [small, other] = await Promise.all([
    fixture.startActivity({ MAX_LIVE_SERVERS: String(MAX) }),
    fixture.startActivity({ MAX_LIVE_SERVERS: String(MAX) }),
  ]);
});
afterAll(async () => {
  await Promise.all([small.stop(), other.stop()]);
  await fixture.stop();
});

const countsOf = async (guildId: string) => {
  const [guild] = await fixture.database.query<{ counted: number; live: number }>(
    `SELECT live_servers AS counted,
       (SELECT count(*)::int FROM activity.servers WHERE servers.guild_id = $1 AND is_counted AND live_until > $2) AS live
     FROM activity.guilds WHERE guild_id = $1`,
    [guildId, new Date(fixture.clock.now())],
  );
  return guild;
};
const liveServers = async (guildId: string) => {
  const { servers } = await fixture.admin().listServers({ guildId, limit: 0, cursor: '' });
  return servers.map(({ serverId }) => serverId);
};

describe(`a guild with ${MAX} live servers`, () => {
  const fill = async (guildId: string) => {
    for (let n = 0; n < MAX; n++) expect((await fixture.beat(`s${n}`, {}, { guildId, at: small })).status).toBe(200);
  };

  test('gets 409 for one more server, which is not stored, while its other servers continue', async () => {
    const guildId = newGuild();
    await fill(guildId);
    const rejected = await fixture.beat('more', { players: [{ game_id: 1 }] }, { guildId, at: small });
    expect(rejected).toMatchObject({
      status: 409,
      body: {
        message: `The guild has ${MAX} live servers, which is the maximum`,
        details: { code: 'QUOTA_EXCEEDED', quota: 'live_servers', limit: MAX },
      },
    });
    expect(await liveServers(guildId)).not.toContain('more');
    expect((await fixture.beat('s0', {}, { guildId, at: small })).status).toBe(200);
    expect((await fixture.beat('a', {}, { guildId: newGuild(), at: small })).status).toBe(200);
  });

  test('can have another one after one has ended, or has sent nothing for three intervals', async () => {
    const guildId = newGuild();
    await fill(guildId);
    const next = (server: string) => fixture.beat(server, {}, { guildId, at: small });
    await fixture.beat('s0', { final: true }, { guildId, at: small });
    expect([(await next('s5')).status, (await next('s6')).status]).toEqual([200, 409]);
    await fixture.advance(44_000);
    for (const server of ['s2', 's3', 's4', 's5']) await next(server);
    expect((await next('s6')).status).toBe(409);
    await fixture.advance(1_000);
    expect([(await next('s6')).status, (await next('s1')).status]).toEqual([200, 409]);
    expect(await countsOf(guildId)).toEqual({ counted: MAX, live: MAX });
  });

  test('never has more, even if many start concurrently through several processes', async () => {
    const guildId = newGuild();
    const beats = Array.from({ length: 40 }, (_, n) =>
      fixture.beat(`s${n % 20}`, {}, { guildId, at: n % 2 ? small : other }),
    );
    const responses = await Promise.all(beats);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 409]));
    expect(await liveServers(guildId)).toHaveLength(MAX);
    expect(await countsOf(guildId)).toEqual({ counted: MAX, live: MAX });
    // They end and return concurrently: the stored count must stay equal to the number of live servers.
    const changes = (await liveServers(guildId)).flatMap((server) =>
      [true, false, true, false].map((final, n) =>
        fixture.beat(server, { final }, { guildId, at: n % 2 ? small : other }),
      ),
    );
    await Promise.all(changes);
    const after = await countsOf(guildId);
    expect(after?.counted).toBe(after?.live);
  });

  test('stores acknowledgements of a rejected server', async () => {
    const guildId = newGuild();
    await fill(guildId);
    const [id = ''] = await fixture.send('more', { guildId });
    await fixture.take('more', '', { guildId });
    const acks = [{ command_id: id, status: 'success' }];
    expect((await fixture.beat('more', { acks }, { guildId, at: small })).status).toBe(409);
    expect(await fixture.states(guildId, id)).toEqual({ more: 'success' });
  });
});

test('servers without heartbeats are removed from the count, even if no other server arrives', async () => {
  const guildId = newGuild();
  const servers = Array.from({ length: 100 }, (_, n) => `s${n}`);
  await Promise.all(servers.map((server) => fixture.beat(server, {}, { guildId })));
  await fixture.advance(20_000);
  expect((await fixture.beat('s0', {}, { guildId })).body.data.next_heartbeat_seconds).toBe(25);
  await fixture.advance(60_000);
  await expect.poll(async () => (await fixture.beat('s0', {}, { guildId })).body.data.next_heartbeat_seconds).toBe(15);
  expect(await countsOf(guildId)).toEqual({ counted: 1, live: 1 });
});

test('the players of a server are deleted when it ends or lapses, and not stored for an unknown one', async () => {
  const guildId = newGuild();
  const players = [{ game_id: 7001 }];
  for (const server of ['ended', 'silent']) await fixture.beat(server, { players }, { guildId });
  await fixture.beat('ended', { players, final: true }, { guildId });
  expect((await fixture.beat('unknown', { players, final: true }, { guildId })).status).toBe(200);
  await fixture.advance(45_000);
  await fixture.beat('new', {}, { guildId });
  const rows = await fixture.database.query(
    'SELECT server_id, players FROM activity.servers WHERE guild_id = $1 AND server_id <> $2 ORDER BY server_id',
    [guildId, 'new'],
  );
  expect(rows).toEqual([
    { server_id: 'ended', players: null },
    { server_id: 'silent', players: null },
  ]);
});

describe('a heartbeat that is written late', () => {
  const late = (guildId: string, receivedAt: number) => heartbeatOf(guildId, 'a', receivedAt);
  const playerCount = async (guildId: string) =>
    (await fixture.database.query('SELECT player_count FROM activity.servers WHERE guild_id = $1', [guildId]))[0];

  test('does not make a server live that has ended in the meantime', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const sentAt = fixture.clock.now();
    await fixture.advance(1_000);
    await fixture.beat('a', { final: true }, { guildId });
    expect(await saveHeartbeats(fixture.database, [late(guildId, sentAt)])).toEqual([]);
    expect(await liveServers(guildId)).toEqual([]);
    expect((await fixture.enqueue({ guildId })).servers).toBe(0);
  });

  test('does not overwrite a newer one, but overwrites one that was received at the same time', async () => {
    const guildId = newGuild();
    const sentAt = fixture.clock.now();
    await fixture.advance(1_000);
    await fixture.beat('a', {}, { guildId });
    expect(await saveHeartbeats(fixture.database, [late(guildId, sentAt)])).toEqual([]);
    expect(await playerCount(guildId)).toEqual({ player_count: 1 });
    expect(await saveHeartbeats(fixture.database, [late(guildId, sentAt + 1_000)])).toHaveLength(1);
    expect(await playerCount(guildId)).toEqual({ player_count: 99 });
  });

  test('gets a response but changes nothing if it would make a server live again', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const sentAt = fixture.clock.now();
    await fixture.advance(1_000);
    await fixture.beat('a', { final: true }, { guildId });
    const admissions = admissionsOf(fixture, MAX);
    const admitted = await admissions.admit([late(guildId, sentAt)]);
    expect(admitted).toEqual([{ isLate: true, isPostponed: false, intervalSeconds: 15 }]);
    expect(await liveServers(guildId)).toEqual([]);
    expect(await countsOf(guildId)).toEqual({ counted: 0, live: 0 });
    // A heartbeat that was received at the same time or later makes it live.
    await admissions.admit([late(guildId, sentAt + 1_000)]);
    expect(await liveServers(guildId)).toEqual(['a']);
  });

  test.each([1, 2, 3])('leaves the count correct among concurrent heartbeats and a final one, %#', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const beats = Array.from({ length: 10 }, (_, n) => {
      fixture.clock.advance(10);
      return fixture.beat('a', { final: n === 9 }, { guildId, at: n % 2 ? small : other });
    });
    expect((await Promise.all(beats)).map(({ status }) => status)).toEqual(Array(10).fill(200));
    const after = await countsOf(guildId);
    expect(after?.counted).toBe(after?.live);
  });
});
