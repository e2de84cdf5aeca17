import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Admissions } from './domain/admissions.ts';
import { ActivityFixture, newGuild, PLACE } from './fixture.ts';
import { type Heartbeat, saveHeartbeats } from './store/servers.ts';

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

const counted = async (guildId: string) => {
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

  test('gets 409 for the next server, which is not stored, and goes on with those that it has', async () => {
    const guildId = newGuild();
    await fill(guildId);
    const refused = await fixture.beat('more', { players: [{ game_id: 1 }] }, { guildId, at: small });
    expect(refused).toMatchObject({
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

  test('has room again when one ends, and when one has been silent for three intervals', async () => {
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
    expect(await counted(guildId)).toEqual({ counted: MAX, live: MAX });
  });

  test('never has more of them, however many come at once in several processes', async () => {
    const guildId = newGuild();
    const beats = Array.from({ length: 40 }, (_, n) =>
      fixture.beat(`s${n % 20}`, {}, { guildId, at: n % 2 ? small : other }),
    );
    const answers = await Promise.all(beats);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
    expect(await liveServers(guildId)).toHaveLength(MAX);
    expect(await counted(guildId)).toEqual({ counted: MAX, live: MAX });
    // They end and come back at once: what is counted stays what there is.
    const again = (await liveServers(guildId)).flatMap((server) =>
      [true, false, true, false].map((final, n) =>
        fixture.beat(server, { final }, { guildId, at: n % 2 ? small : other }),
      ),
    );
    await Promise.all(again);
    const after = await counted(guildId);
    expect(after?.counted).toBe(after?.live);
  });

  test('acknowledgements of a server that is refused are kept', async () => {
    const guildId = newGuild();
    await fill(guildId);
    const [id = ''] = await fixture.send('more', { guildId });
    await fixture.take('more', '', { guildId });
    const acks = [{ command_id: id, status: 'success' }];
    expect((await fixture.beat('more', { acks }, { guildId, at: small })).status).toBe(409);
    expect(await fixture.states(guildId, id)).toEqual({ more: 'success' });
  });
});

test('servers that fell silent are no longer counted, also where no other comes', async () => {
  const guildId = newGuild();
  const servers = Array.from({ length: 100 }, (_, n) => `s${n}`);
  await Promise.all(servers.map((server) => fixture.beat(server, {}, { guildId })));
  await fixture.advance(20_000);
  expect((await fixture.beat('s0', {}, { guildId })).body.data.next_heartbeat_seconds).toBe(25);
  await fixture.advance(60_000);
  await expect.poll(async () => (await fixture.beat('s0', {}, { guildId })).body.data.next_heartbeat_seconds).toBe(15);
  expect(await counted(guildId)).toEqual({ counted: 1, live: 1 });
});

test('nothing is kept of the players of a server that ended or fell silent, nor of an unknown one that ends', async () => {
  const guildId = newGuild();
  const players = [{ game_id: 7001 }];
  for (const server of ['ended', 'silent']) await fixture.beat(server, { players }, { guildId });
  await fixture.beat('ended', { players, final: true }, { guildId });
  expect((await fixture.beat('unknown', { players, final: true }, { guildId })).status).toBe(200);
  await fixture.advance(45_000);
  await fixture.beat('new', {}, { guildId });
  const kept = await fixture.database.query(
    'SELECT server_id, players FROM activity.servers WHERE guild_id = $1 AND server_id <> $2 ORDER BY server_id',
    [guildId, 'new'],
  );
  expect(kept).toEqual([
    { server_id: 'ended', players: null },
    { server_id: 'silent', players: null },
  ]);
});

describe('a heartbeat that is written late', () => {
  const late = (guildId: string, receivedAt: number): Heartbeat => ({
    guildId,
    serverId: 'a',
    placeId: PLACE,
    universeId: undefined,
    playerCount: 99,
    maxPlayers: 99,
    players: undefined,
    fps: undefined,
    ageSeconds: undefined,
    pluginVersion: undefined,
    isFinal: false,
    receivedAt: new Date(receivedAt),
  });
  const playerCount = async (guildId: string) =>
    (await fixture.database.query('SELECT player_count FROM activity.servers WHERE guild_id = $1', [guildId]))[0];

  test('does not make a server live that has ended since', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const sentAt = fixture.clock.now();
    await fixture.advance(1_000);
    await fixture.beat('a', { final: true }, { guildId });
    expect(await saveHeartbeats(fixture.database, [late(guildId, sentAt)])).toEqual([]);
    expect(await liveServers(guildId)).toEqual([]);
    expect((await fixture.enqueue({ guildId })).servers).toBe(0);
  });

  test('does not overwrite a newer one, and one received at the same time is written', async () => {
    const guildId = newGuild();
    const sentAt = fixture.clock.now();
    await fixture.advance(1_000);
    await fixture.beat('a', {}, { guildId });
    expect(await saveHeartbeats(fixture.database, [late(guildId, sentAt)])).toEqual([]);
    expect(await playerCount(guildId)).toEqual({ player_count: 1 });
    expect(await saveHeartbeats(fixture.database, [late(guildId, sentAt + 1_000)])).toHaveLength(1);
    expect(await playerCount(guildId)).toEqual({ player_count: 99 });
  });

  test('is answered, changes nothing and takes no command, where it was thought to make a server live', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const sentAt = fixture.clock.now();
    await fixture.advance(1_000);
    await fixture.beat('a', { final: true }, { guildId });
    const { clock, database } = fixture;
    const log = await createLog({ service: 'test', level: 'silent' });
    const admissions = new Admissions({
      database,
      clock,
      log,
      events: { quotaExceeded: () => undefined },
      maxLiveServers: MAX,
    });
    const admitted = await admissions.admit([late(guildId, sentAt)]);
    expect(admitted).toEqual([{ isLate: true, intervalSeconds: 15 }]);
    expect(await liveServers(guildId)).toEqual([]);
    expect(await counted(guildId)).toEqual({ counted: 0, live: 0 });
    // One that was received at the same time, or later, does.
    await admissions.admit([late(guildId, sentAt + 1_000)]);
    expect(await liveServers(guildId)).toEqual(['a']);
  });

  test.each([1, 2, 3])('among others and a final one leaves the count right, whatever the order, %#', async () => {
    const guildId = newGuild();
    await fixture.beat('a', {}, { guildId });
    const beats = Array.from({ length: 10 }, (_, n) => {
      fixture.clock.advance(10);
      return fixture.beat('a', { final: n === 9 }, { guildId, at: n % 2 ? small : other });
    });
    expect((await Promise.all(beats)).map(({ status }) => status)).toEqual(Array(10).fill(200));
    const after = await counted(guildId);
    expect(after?.counted).toBe(after?.live);
  });
});
