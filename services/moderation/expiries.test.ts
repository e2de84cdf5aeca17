import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EventRecorder } from '#kit/events/recorder.ts';
import type { RunningService } from '#kit/service/service.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { openTestPool } from '#test/postgres/database.ts';
import { recordedEvents } from '#test/postgres/recorded-events.ts';
import { expirySweeps } from './domain/expiries.ts';
import { ModerationEvents } from './events.ts';
import { ModerationFixture, newGuild } from './fixture.ts';
import { ModerationTelemetry } from './telemetry.ts';

const fixture = new ModerationFixture();
let replica: RunningService;
beforeAll(async () => {
  await fixture.start();
  replica = await fixture.startReplica();
});
afterAll(async () => {
  await replica.stop();
  await fixture.stop();
});

const events = (guildId: string) => recordedEvents(fixture.database.url, 'moderation', guildId);
const expired = async (guildId: string) => (await events(guildId)).filter(({ type }) => type.endsWith('.expired'));
const SYSTEM = { kind: 'system', id: 'moderation' };

/** Inserts bans of players from 1 to `count`, which expire one millisecond after the other. */
const insertBans = (guildId: string, count: number, expiresAt: number) =>
  fixture.query(
    `INSERT INTO moderation.punishments (guild_id, id, kind, game_id, place_id, reason, created_at, expires_at, updated_at)
     SELECT $1, n, 'ban', n, 0, 'x', $3::timestamptz - interval '1 hour', $3::timestamptz + n * interval '1 millisecond',
       $3
     FROM generate_series(1, $2::int) n`,
    [guildId, count, new Date(expiresAt)],
  );

describe('the expiry of a ban or mute', () => {
  test('is one event of the system within 5 s, with the record, although two replicas look for it', async () => {
    const guildId = newGuild();
    const ban = (await fixture.decide('ban', { game_id: 1, duration: '1m' }, { guildId })).body.data;
    const mute = (await fixture.decide('mute', { game_id: 1, duration: '90s' }, { guildId })).body.data;
    await fixture.decide('ban', { game_id: 2 }, { guildId });
    await fixture.advance(59_999);
    expect(await expired(guildId)).toEqual([]);
    await fixture.advance(1);
    await expect.poll(async () => (await expired(guildId)).length, { timeout: 5_000 }).toBe(1);
    await fixture.advance(3600_000);
    await expect.poll(async () => (await expired(guildId)).length, { timeout: 5_000 }).toBe(2);
    expect(await expired(guildId)).toMatchObject([
      { type: 'ban.expired', source: SYSTEM, data: ban },
      { type: 'mute.expired', source: SYSTEM, data: mute },
    ]);
    // A new decision about the player does not report the expiry again.
    await fixture.decide('ban', { game_id: 1 }, { guildId });
    expect((await events(guildId)).map(({ type }) => type)).toEqual([
      'ban.created',
      'mute.created',
      'ban.created',
      'ban.expired',
      'mute.expired',
      'ban.created',
    ]);
  });

  test('is reported before a new ban that comes earlier than the next sweep', async () => {
    const guildId = newGuild();
    await fixture.decide('ban', { game_id: 1, duration: '1m' }, { guildId });
    await fixture.advance(60_000);
    await fixture.decide('ban', { game_id: 1 }, { guildId });
    expect((await events(guildId)).map(({ type, data }) => [type, data.id])).toEqual([
      ['ban.created', 1],
      ['ban.expired', 1],
      ['ban.created', 3],
    ]);
  });

  test('is not reported if it was lifted, or passed before expiries were reported', async () => {
    const [lifted, old, marker] = [newGuild(), newGuild(), newGuild()];
    await fixture.decide('ban', { game_id: 1, duration: '1m' }, { guildId: lifted });
    await fixture.decide('unban', { game_id: 1 }, { guildId: lifted });
    await insertBans(old, 10, fixture.clock.now() + 60_000);
    // As after an upgrade that took place later.
    await fixture.query('UPDATE moderation.punishments SET expiry_reported_to = $2 WHERE guild_id = $1', [
      old,
      new Date(fixture.clock.now() + 90_000),
    ]);
    await insertBans(marker, 1, fixture.clock.now() + 60_000);
    await fixture.advance(120_000);
    await expect.poll(async () => (await expired(marker)).length, { timeout: 5_000 }).toBe(1);
    // The player can be banned again.
    expect((await fixture.decide('ban', { game_id: 5 }, { guildId: old })).status).toBe(201);
    expect([await expired(lifted), await expired(old)]).toEqual([[], []]);
  });
});

test('a backlog of two guilds is reported by all replicas in the order of time, each expiry once', async () => {
  const guilds = [newGuild(), newGuild()];
  for (const guildId of guilds) await insertBans(guildId, 1_500, fixture.clock.now() + 60_000);
  const more = await Promise.all([fixture.startReplica(), fixture.startReplica()]);
  await fixture.advance(120_000);
  for (const guildId of guilds) {
    await expect.poll(async () => (await expired(guildId)).length, { timeout: 20_000 }).toBe(1_500);
  }
  await Promise.all(more.map((one) => one.stop()));
  for (const guildId of guilds) {
    const ids = (await expired(guildId)).map(({ data }) => data.id);
    expect(new Set(ids).size).toBe(1_500);
  }
}, 60_000);

test('if the event cannot be recorded, the expiry is not marked and is reported later', async () => {
  const guildId = newGuild();
  await Promise.all([fixture.moderation.stop(), replica.stop()]);
  await insertBans(guildId, 1, fixture.clock.now() - 1_000);
  const database = await openTestPool(fixture.database.url);
  const log = await createLog({ service: 'test', level: 'silent' });
  const telemetry = new ModerationTelemetry(new Metrics(), log);
  const recorder = { record: () => Promise.reject(new Error('lost')) } as unknown as EventRecorder;
  const [sweep] = expirySweeps({ database, events: new ModerationEvents(recorder), telemetry });
  await expect(sweep?.sweep()).rejects.toThrow('lost');
  expect(await fixture.query('SELECT ended_at FROM moderation.punishments WHERE guild_id = $1', [guildId])).toEqual([
    { ended_at: null },
  ]);
  await database.close();
  [fixture.moderation, replica] = await Promise.all([fixture.startReplica(), fixture.startReplica()]);
  await expect.poll(async () => (await expired(guildId)).length, { timeout: 5_000 }).toBe(1);
});

test('the expiry of a flag is one event; removing the expired entry is none, adding it again is one', async () => {
  const guildId = newGuild();
  const put = (expiresAt: number) =>
    fixture.query(
      `INSERT INTO moderation.shield (guild_id, game_id, reason, category, source, actor, flagged_at, expires_at)
       VALUES ($1, 7, 'x', 'y', 'z', 'ada', $2, $2), ('0', 7, 'x', 'y', 'z', 'ada', $2, $2)
       ON CONFLICT (guild_id, game_id) DO UPDATE SET expires_at = excluded.expires_at`,
      [guildId, new Date(expiresAt)],
    );
  for (const reported of [1, 2]) {
    await put(fixture.clock.now() + 1_000);
    await fixture.advance(1_000);
    await expect.poll(async () => (await events(guildId)).length, { timeout: 5_000 }).toBe(reported);
  }
  expect(await events(guildId)).toMatchObject([
    { type: 'shield.removed', source: SYSTEM, persons: ['game:7'] },
    { type: 'shield.removed' },
  ]);
  expect(await recordedEvents(fixture.database.url, 'moderation', '0')).toEqual([]);
});

test('an entry of the flagged list that is extended while its expiry is about to be reported has no event', async () => {
  const guildId = newGuild();
  const insert = (gameId: number, expiresAt: number) =>
    fixture.query(
      `INSERT INTO moderation.shield (guild_id, game_id, reason, category, source, actor, flagged_at, expires_at)
       VALUES ($1, $2, 'x', 'y', 'z', 'ada', $3, $3)`,
      [guildId, gameId, new Date(expiresAt)],
    );
  await insert(7, fixture.clock.now() + 1_000);
  const client = new Client({ connectionString: fixture.database.url });
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query(`UPDATE moderation.shield SET expires_at = 'infinity' WHERE guild_id = $1 AND game_id = 7`, [
      guildId,
    ]);
    await fixture.advance(1_000);
    // The sweep waits for the lock of the entry.
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
      AND query LIKE '%SET expiry_reported_to%' AND query_start < pg_catalog.clock_timestamp() - interval '300 ms'`;
    await expect.poll(() => fixture.query(waiting), { timeout: 10_000 }).not.toHaveLength(0);
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
  await insert(8, fixture.clock.now());
  await expect.poll(() => events(guildId), { timeout: 10_000 }).not.toHaveLength(0);
  expect(await events(guildId)).toMatchObject([{ type: 'shield.removed', persons: ['game:8'] }]);
});
