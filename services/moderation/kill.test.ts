import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { seededRandom } from '#test/random.ts';
import { ModerationFixture, newGuild } from './fixture.ts';

/** Nothing listens at this address. */
const NOWHERE = '127.0.0.1:1';

const fixture = new ModerationFixture(systemClock);
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

/** The numbers of a guild's punishments, log rows, outbox rows, events, complete decisions and idempotency rows. */
async function countsOf(guildId: string): Promise<Record<string, number>> {
  const [row] = await fixture.query<Record<string, number>>(
    `SELECT (SELECT count(*)::int FROM moderation.punishments WHERE guild_id = $1) AS decided,
       (SELECT count(*)::int FROM moderation.log WHERE guild_id = $1) AS logged,
       (SELECT count(*)::int FROM moderation.outbox WHERE guild_id = $1) AS queued,
       (SELECT count(*)::int FROM moderation.events WHERE guild_id = $1) AS reported,
       (SELECT count(*)::int FROM moderation.punishments
          JOIN moderation.log ON log.guild_id = punishments.guild_id AND log.punishment_id = punishments.id
          JOIN moderation.outbox ON outbox.guild_id = punishments.guild_id AND outbox.log_id = log.id
        WHERE punishments.guild_id = $1) AS complete,
       (SELECT count(*)::int FROM moderation.idempotency WHERE guild_id = $1) AS replayable`,
    [guildId],
  );
  return row ?? {};
}

test('after kill -9 following the commit another process delivers the decisions', async () => {
  const guildId = newGuild();
  const { at, kill } = await fixture.startProcess({ ACTIVITY_GRPC_ADDRESS: NOWHERE });
  // No other replica runs until the process is dead.
  await fixture.moderation.stop();
  for (const action of ['ban', 'unban', 'mute']) await fixture.decide(action, { game_id: 1 }, { guildId, at });
  await kill();
  expect(await countsOf(guildId)).toMatchObject({ decided: 2, logged: 3, queued: 3, reported: 3 });
  expect(fixture.activity.typesOf(guildId)).toEqual([]);
  fixture.moderation = await fixture.startReplica();
  await expect.poll(() => fixture.activity.typesOf(guildId)).toEqual(['ban', 'unban', 'mute']);
  await expect.poll(() => fixture.undelivered(guildId)).toBe(0);
});

test('after kill -9 before the commit nothing is stored, and a repeat with the same key succeeds', async () => {
  const guildId = newGuild();
  const { at, kill } = await fixture.startProcess();
  await fixture.decide('mute', { game_id: 1 }, { guildId, at });
  // The lock on the log blocks the transaction half-way.
  await fixture.query('BEGIN');
  await fixture.query('LOCK TABLE moderation.log IN EXCLUSIVE MODE');
  const response = fixture.decide('ban', { game_id: 1 }, { guildId, at, key: 'killed' }).then(
    () => 'a response',
    () => 'none',
  );
  await expect
    .poll(() => fixture.query(`SELECT 1 FROM pg_locks WHERE relation = 'moderation.log'::regclass AND NOT granted`))
    .toHaveLength(1);
  await kill();
  expect(await response).toBe('none');
  await fixture.query('COMMIT');
  // PostgreSQL notices that the connection is closed, and rolls back.
  await expect
    .poll(() => fixture.query(`SELECT 1 FROM pg_locks WHERE relation = 'moderation.log'::regclass`))
    .toHaveLength(0);
  expect(await countsOf(guildId)).toEqual({
    decided: 1,
    logged: 1,
    queued: 1,
    reported: 1,
    complete: 1,
    replayable: 0,
  });
  const repeat = await fixture.decide('ban', { game_id: 1 }, { guildId, key: 'killed' });
  expect([repeat.status, repeat.headers.get('idempotency-replayed')]).toEqual([201, null]);
  expect(await countsOf(guildId)).toEqual({
    decided: 2,
    logged: 2,
    queued: 2,
    reported: 2,
    complete: 2,
    replayable: 1,
  });
});

test('after kill -9 between the mark of an expiry and its commit, another process reports the expiry once', async () => {
  const guildId = newGuild();
  await fixture.moderation.stop();
  const { at, kill } = await fixture.startProcess();
  await fixture.decide('ban', { game_id: 1, duration: '1s' }, { guildId, at });
  // The lock on the events blocks the transaction after it has marked the expiry.
  await fixture.query('BEGIN');
  await fixture.query('LOCK TABLE moderation.events IN EXCLUSIVE MODE');
  const waiting = `SELECT 1 FROM pg_locks WHERE relation = 'moderation.events'::regclass AND NOT granted
    AND mode = 'RowExclusiveLock'`;
  await expect.poll(async () => (await fixture.query(waiting)).length, { timeout: 10_000 }).toBeGreaterThan(0);
  await kill();
  await fixture.query('COMMIT');
  fixture.moderation = await fixture.startReplica();
  const expired = `SELECT number FROM moderation.events WHERE guild_id = $1 AND type = 'ban.expired'`;
  await expect.poll(() => fixture.query(expired, [guildId]), { timeout: 10_000 }).toHaveLength(1);
  const [ended] = await fixture.query(
    'SELECT ended_at = expires_at AS "isEnded" FROM moderation.punishments WHERE guild_id = $1',
    [guildId],
  );
  expect(ended).toEqual({ isEnded: true });
}, 30_000);

test('after kill -9 at any moment each decision is complete or absent, and repeats complete them', async () => {
  const random = seededRandom(5);
  const guildId = newGuild();
  const players = Array.from({ length: 150 }, (_, index) => index + 1);
  for (let round = 0; round < 3; round++) {
    const { at, kill } = await fixture.startProcess();
    // By then some requests have a response, others are in flight.
    const enough = Promise.withResolvers<void>();
    let left = 1 + Math.floor(random() * 100);
    const bans = players.map(async (gameId) => {
      await fixture.decide('ban', { game_id: gameId }, { guildId, at, key: `ban ${gameId}` }).catch(() => undefined);
      if (--left === 0) enough.resolve();
    });
    await enough.promise;
    await kill();
    await Promise.all(bans);
    const { decided, ...others } = await countsOf(guildId);
    expect(others).toEqual({
      logged: decided,
      queued: decided,
      reported: decided,
      complete: decided,
      replayable: decided,
    });
  }
  const repeats = await Promise.all(
    players.map((gameId) => fixture.decide('ban', { game_id: gameId }, { guildId, key: `ban ${gameId}` })),
  );
  expect(repeats.every(({ status }) => status === 201)).toBe(true);
  expect(await countsOf(guildId)).toMatchObject({ decided: 150, logged: 150, queued: 150, complete: 150 });
  await expect.poll(() => fixture.undelivered(guildId)).toBe(0);
  expect(fixture.activity.typesOf(guildId)).toHaveLength(150);
  // Three processes are started and killed before the delivery.
}, 60_000);
