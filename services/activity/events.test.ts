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

const now = () => unixSeconds(fixture.clock.now());
const typesOf = async (guildId: string) => (await fixture.events(guildId)).map(({ type }) => type);
const KEY = TEST_SOURCE;
const SYSTEM = { kind: 'system', id: 'activity' };
/** Makes recording events of the guild fail until the returned function is called. */
async function failRecording(guildId: string): Promise<() => Promise<unknown>> {
  await fixture.database.query(
    `ALTER TABLE activity.events ADD CONSTRAINT fails CHECK (guild_id <> '${guildId}') NOT VALID`,
  );
  return () => fixture.database.query('ALTER TABLE activity.events DROP CONSTRAINT fails');
}

describe('a staff session', () => {
  const start = (guildId: string, fields: object = {}, key?: string) =>
    fixture.post(
      '/staff/game/session/start',
      { game_id: 7001, game_username: 'AdaBuilds', place_id: PLACE, server_id: 'a', ...fields },
      { guildId, ...(key && { key }) },
    );
  const end = (guildId: string, session_id: string) =>
    fixture.post('/staff/game/session/end', { session_id, reason: 'left' }, { guildId });

  test('is an event when it starts and when it ends; resuming it and ending it again are none', async () => {
    const guildId = newGuild();
    const { session_id } = (await start(guildId, {}, 'k')).body.data;
    await start(guildId, {}, 'k');
    await start(guildId);
    const open = {
      session_id,
      game_id: 7001,
      game_username: 'AdaBuilds',
      place_id: PLACE,
      server_id: 'a',
      started_at: now(),
      ended_at: null,
      idle_seconds: 0,
      end_reason: null,
    };
    await fixture.advance(10_000);
    for (let time = 0; time < 2; time++) await end(guildId, session_id);
    const common = { source: KEY, persons: ['game:7001'] };
    expect(await fixture.events(guildId)).toEqual([
      { ...common, number: 1, type: 'session.started', data: open },
      { ...common, number: 2, type: 'session.ended', data: { ...open, ended_at: now(), end_reason: 'left' } },
    ]);
  });

  test('that misses its heartbeats is one event of the system, with the time of the last heartbeat', async () => {
    const guildId = newGuild();
    const { session_id } = (await start(guildId)).body.data;
    await fixture.advance(100_000);
    const beatAt = now();
    await fixture.post(
      '/staff/game/heartbeat',
      { server_id: 'a', sessions: [{ session_id, idle_seconds: 3 }] },
      { guildId },
    );
    // It is checked here for the first time, and is still open.
    await fixture.advance(100_000);
    const check = `SELECT check_at > $2 AS "isChecked" FROM activity.sessions WHERE guild_id = $1`;
    const isChecked = () => fixture.database.query(check, [guildId, new Date(fixture.clock.now())]);
    await expect.poll(isChecked, { timeout: 10_000 }).toEqual([{ isChecked: true }]);
    expect(await typesOf(guildId)).toEqual(['session.started']);
    await fixture.advance(80_001);
    const [ended] = await fixture.eventsOf(guildId, ['session.ended'], 1);
    const data = { session_id, ended_at: beatAt, end_reason: 'missed beats', idle_seconds: 3 };
    expect(ended).toMatchObject({ source: SYSTEM, data });
    expect((await end(guildId, session_id)).body.data.ended_at).toBe(beatAt);
    expect(await fixture.events(guildId)).toHaveLength(2);
  });

  test('that has missed its heartbeats is ended by a new start earlier than by the next sweep', async () => {
    const guildId = newGuild();
    await start(guildId);
    await fixture.advance(180_001);
    await start(guildId);
    expect(await typesOf(guildId)).toEqual(['session.started', 'session.ended', 'session.started']);
  });

  test('of the previous release, which lapsed long ago, is no event', async () => {
    const [guildId, marker] = [newGuild(), newGuild()];
    await fixture.database.query(
      `INSERT INTO activity.sessions (guild_id, session_id, game_id, place_id, server_id, started_at, beat_at)
       VALUES ($1, $2, 1, 1, 'a', '2026-01-01', '2026-01-01')`,
      [guildId, randomUUID()],
    );
    await start(marker);
    await fixture.advance(200_000);
    await fixture.eventsOf(marker, ['session.ended'], 1);
    expect(await fixture.events(guildId)).toEqual([]);
  });

  test('and its event are committed together', async () => {
    const guildId = newGuild();
    const recover = await failRecording(guildId);
    expect((await start(guildId)).status).toBe(500);
    await recover();
    expect((await start(guildId)).body.data.resumed).toBe(false);
    expect(await typesOf(guildId)).toEqual(['session.started']);
  });
});

describe('a staff action', () => {
  const log = (guildId: string, action_id: string, fields: object = {}) =>
    fixture.post('/staff/game/action', { actor_game_id: 7001, action_type: 'kick', action_id, ...fields }, { guildId });

  test('is an event once, with the persons whom it names', async () => {
    const guildId = newGuild();
    const id = randomUUID();
    const details = { said: 'a null character \0 and half a pair \ud800', '\0': [1] };
    const fields = { target_game_id: 7004, details, occurred_at: now() - 5 };
    expect([(await log(guildId, id, fields)).status, (await log(guildId, id, fields)).status]).toEqual([201, 200]);
    const data = {
      id,
      actor_game_id: 7001,
      action_type: 'kick',
      target_game_id: 7004,
      place_id: null,
      server_id: null,
      details: { said: 'a null character \ufffd and half a pair \ufffd', '\ufffd': [1] },
      occurred_at: now() - 5,
      created_at: now(),
    };
    expect(await fixture.events(guildId)).toEqual([
      { number: 1, type: 'staff.action', source: KEY, persons: ['game:7001', 'game:7004'], data },
    ]);
  });

  test('and its event are committed together, also of 16 concurrent writers', async () => {
    const guildId = newGuild();
    const recover = await failRecording(guildId);
    const id = randomUUID();
    expect((await log(guildId, id)).status).toBe(500);
    await recover();
    expect((await log(guildId, id)).status).toBe(201);
    await Promise.all(Array.from({ length: 16 }, () => log(guildId, randomUUID())));
    expect(await fixture.events(guildId)).toHaveLength(17);
  });
});

describe('a game server', () => {
  const beat = (guildId: string, fields: object = {}) => fixture.beat('a', fields, { guildId });
  const fields = {
    universe_id: 30001,
    fps: 59.94,
    age_seconds: 12,
    plugin_version: '2.4.0',
    players: [{ game_id: 1 }],
  };

  test('is online with its first heartbeat, and offline with its last one', async () => {
    const guildId = newGuild();
    await beat(guildId, fields);
    const online = {
      server_id: 'a',
      place_id: PLACE,
      universe_id: 30001,
      player_count: 1,
      max_players: 30,
      fps: 59.94,
      plugin_version: '2.4.0',
      started_at: now() - 12,
      heartbeat_at: now(),
      live_until: now() + 45,
    };
    await fixture.advance(15_000);
    await beat(guildId, fields);
    await fixture.advance(5_000);
    for (let time = 0; time < 2; time++) await beat(guildId, { ...fields, final: true });
    await fixture.beat('unknown', { final: true }, { guildId });
    const offline = { ...online, started_at: now() - 12, heartbeat_at: now(), live_until: now() };
    expect(await fixture.events(guildId)).toEqual([
      { number: 1, type: 'server.online', source: KEY, persons: [], data: online },
      { number: 2, type: 'server.offline', source: KEY, persons: [], data: offline },
    ]);
  });

  test('without heartbeats is offline once, although no heartbeat of its guild arrives, and online when it returns', async () => {
    const guildId = newGuild();
    await beat(guildId);
    await fixture.advance(44_999);
    await beat(guildId);
    const liveUntil = now() + 45;
    await fixture.advance(44_999);
    const checked = 'SELECT next_lapse_at > $2 AS "isChecked" FROM activity.guilds WHERE guild_id = $1';
    const values = [guildId, new Date(fixture.clock.now())];
    await expect
      .poll(() => fixture.database.query(checked, values), { timeout: 10_000 })
      .toEqual([{ isChecked: true }]);
    expect(await typesOf(guildId)).toEqual(['server.online']);
    await fixture.advance(1);
    const [offline] = await fixture.eventsOf(guildId, ['server.offline'], 1);
    expect(offline).toMatchObject({ source: SYSTEM, data: { live_until: liveUntil, heartbeat_at: liveUntil - 45 } });
    await beat(guildId);
    expect(await typesOf(guildId)).toEqual(['server.online', 'server.offline', 'server.online']);
  });

  test('that returns earlier than the next sweep is offline before it is online', async () => {
    const guildId = newGuild();
    await beat(guildId);
    await fixture.advance(60_000);
    await beat(guildId);
    expect(await typesOf(guildId)).toEqual(['server.online', 'server.offline', 'server.online']);
  });

  test('whose live time was shortened is offline in time', async () => {
    const guildId = newGuild();
    const servers = Array.from({ length: 200 }, (_, n) => `s${n}`);
    // Each of 200 servers is live for 150 s after a heartbeat; when the others have ended, for 45 s.
    for (let time = 0; time < 2; time++) {
      await Promise.all(servers.map((server) => fixture.beat(server, {}, { guildId })));
    }
    await Promise.all(servers.slice(1).map((server) => fixture.beat(server, { final: true }, { guildId })));
    await fixture.advance(46_000);
    await fixture.beat('s0', {}, { guildId });
    await fixture.advance(45_000);
    expect(await fixture.eventsOf(guildId, ['server.offline'], 200)).toHaveLength(200);
  });

  test('of several guilds in one batch is reported by the key of its own guild', async () => {
    const guilds = Array.from({ length: 20 }, newGuild);
    await Promise.all(guilds.map((guildId) => beat(guildId)));
    for (const guildId of guilds) expect(await typesOf(guildId)).toEqual(['server.online']);
  });

  test('does not come online without its event', async () => {
    const guildId = newGuild();
    const recover = await failRecording(guildId);
    expect((await beat(guildId)).status).toBe(500);
    await recover();
    expect((await beat(guildId)).status).toBe(200);
    expect(await typesOf(guildId)).toEqual(['server.online']);
  });

  test('is reported once by two replicas in a backlog of 3,000 servers, also if recording failed before', async () => {
    const guilds = Array.from({ length: 6 }, newGuild);
    const beats = guilds.flatMap((guildId) =>
      Array.from({ length: 500 }, (_, n) => fixture.beat(`s${n}`, {}, { guildId, at: n % 2 ? replica : undefined })),
    );
    expect(new Set((await Promise.all(beats)).map(({ status }) => status))).toEqual(new Set([200]));
    const recover = await failRecording(guilds[0] ?? '');
    await fixture.advance(3600_000);
    await expect.poll(() => fixture.events(guilds[0] ?? ''), { timeout: 3_000 }).toHaveLength(500);
    await recover();
    for (const guildId of guilds) await fixture.eventsOf(guildId, ['server.offline'], 500);
  }, 60_000);
});
