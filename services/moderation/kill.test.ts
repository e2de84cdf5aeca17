import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { seededRandom } from '#test/random.ts';
import { ModerationFixture, newGuild } from './fixture.ts';

/** Nobody answers there. */
const NOWHERE = '127.0.0.1:1';

const fixture = new ModerationFixture(systemClock);
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

/** Decisions, log rows and events of a guild. */
async function countsOf(guildId: string): Promise<Record<string, number>> {
  const [row] = await fixture.query<Record<string, number>>(
    `SELECT (SELECT count(*)::int FROM moderation.punishments WHERE guild_id = $1) AS decided,
       (SELECT count(*)::int FROM moderation.log WHERE guild_id = $1) AS logged,
       (SELECT count(*)::int FROM moderation.outbox WHERE guild_id = $1) AS queued,
       (SELECT count(*)::int FROM moderation.punishments made
          JOIN moderation.log ON log.guild_id = made.guild_id AND log.punishment_id = made.id
          JOIN moderation.outbox ON outbox.guild_id = made.guild_id AND outbox.log_id = log.id
        WHERE made.guild_id = $1) AS whole,
       (SELECT count(*)::int FROM moderation.idempotency WHERE guild_id = $1) AS remembered`,
    [guildId],
  );
  return row ?? {};
}

test('kill -9 after the commit: another process delivers what the first could not', async () => {
  const guildId = newGuild();
  const { at, kill } = await fixture.startProcess({ ACTIVITY_GRPC_ADDRESS: NOWHERE });
  // Only the process knows of it, and nobody else looks before it is dead.
  await fixture.moderation.stop();
  for (const action of ['ban', 'unban', 'mute']) await fixture.decide(action, { game_id: 1 }, { guildId, at });
  await kill();
  expect(await countsOf(guildId)).toMatchObject({ decided: 2, logged: 3, queued: 3 });
  expect(fixture.activity.typesOf(guildId)).toEqual([]);
  fixture.moderation = await fixture.startReplica();
  await expect.poll(() => fixture.activity.typesOf(guildId)).toEqual(['ban', 'unban', 'mute']);
  await expect.poll(() => fixture.undelivered(guildId)).toBe(0);
});

test('kill -9 before the commit leaves nothing; the repeat with the same key decides', async () => {
  const guildId = newGuild();
  const { at, kill } = await fixture.startProcess();
  await fixture.decide('mute', { game_id: 1 }, { guildId, at });
  // The log can not be written to, so that the transaction stands still in its midst.
  await fixture.query('BEGIN');
  await fixture.query('LOCK TABLE moderation.log IN EXCLUSIVE MODE');
  const answer = fixture.decide('ban', { game_id: 1 }, { guildId, at, key: 'killed' }).then(
    () => 'an answer',
    () => 'nothing',
  );
  await expect
    .poll(() => fixture.query(`SELECT 1 FROM pg_locks WHERE relation = 'moderation.log'::regclass AND NOT granted`))
    .toHaveLength(1);
  await kill();
  expect(await answer).toBe('nothing');
  await fixture.query('COMMIT');
  // PostgreSQL finds out that nobody is there any more, and rolls back.
  await expect
    .poll(() => fixture.query(`SELECT 1 FROM pg_locks WHERE relation = 'moderation.log'::regclass`))
    .toHaveLength(0);
  expect(await countsOf(guildId)).toEqual({ decided: 1, logged: 1, queued: 1, whole: 1, remembered: 0 });
  const repeat = await fixture.decide('ban', { game_id: 1 }, { guildId, key: 'killed' });
  expect([repeat.status, repeat.headers.get('idempotency-replayed')]).toEqual([201, null]);
  expect(await countsOf(guildId)).toEqual({ decided: 2, logged: 2, queued: 2, whole: 2, remembered: 1 });
});

test('kill -9 at any moment leaves each decision whole or not at all, and repeats complete them', async () => {
  const random = seededRandom(5);
  const guildId = newGuild();
  const players = Array.from({ length: 150 }, (_, index) => index + 1);
  for (let round = 0; round < 3; round++) {
    const { at, kill } = await fixture.startProcess();
    // Some are answered by then, others are under way.
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
    expect(others).toEqual({ logged: decided, queued: decided, whole: decided, remembered: decided });
  }
  const repeats = await Promise.all(
    players.map((gameId) => fixture.decide('ban', { game_id: gameId }, { guildId, key: `ban ${gameId}` })),
  );
  expect(repeats.every(({ status }) => status === 201)).toBe(true);
  expect(await countsOf(guildId)).toMatchObject({ decided: 150, logged: 150, queued: 150, whole: 150 });
  await expect.poll(() => fixture.undelivered(guildId)).toBe(0);
  expect(fixture.activity.typesOf(guildId)).toHaveLength(150);
  // Three processes are started and killed before the delivery.
}, 60_000);
