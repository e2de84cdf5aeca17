// Staff sessions that lasted for weeks: what ends or deletes many of them must fit into the statement timeout.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ActivityFixture, newGuild } from './fixture.ts';
import { endSilent } from './store/sessions.ts';

const fixture = new ActivityFixture();
let guildId = newGuild();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(() => {
  guildId = newGuild();
});

const now = () => new Date(fixture.clock.now());
const storedDays = () =>
  fixture.database.query('SELECT ctid, xmin, * FROM activity.staff_days WHERE guild_id = $1 ORDER BY game_id, day', [
    guildId,
  ]);

/** Stores sessions that had their last beat just now, without waking the sweep. */
async function insertSessions(amount: number, days: number, isEnded = false): Promise<void> {
  await fixture.database.query(
    `INSERT INTO activity.sessions (guild_id, session_id, game_id, place_id, server_id, started_at, beat_at, ended_at)
     SELECT $1, gen_random_uuid(), 7000 + n, 1, 's', $2::timestamptz - $3::int * interval '1 day', $2,
       CASE WHEN $5 THEN $2::timestamptz END
     FROM generate_series(1, $4::int) AS n`,
    [guildId, now(), days, amount, isEnded],
  );
}

test('a sweep ends fewer sessions at once if they are long', async () => {
  await insertSessions(12, 100);
  const sweep = () =>
    fixture.database.transaction(async (transaction) => {
      await transaction.query(
        `UPDATE activity.sessions SET check_at = to_timestamp(0) WHERE guild_id = $1 AND ended_at IS NULL`,
        [guildId],
      );
      const { ended, mayFindMore } = await endSilent(transaction, new Date(fixture.clock.now() + 1), now(), 200);
      return [ended.length, mayFindMore];
    });
  // Five sessions have 500 days, and one more makes it more than that.
  expect([await sweep(), await sweep()]).toEqual([
    [6, true],
    [6, false],
  ]);
});

test('one session that is longer than a sweep allows is ended', async () => {
  await insertSessions(2, 600);
  await fixture.database.transaction(async (transaction) => {
    await transaction.query('UPDATE activity.sessions SET check_at = to_timestamp(0) WHERE guild_id = $1', [guildId]);
    const checked = await endSilent(transaction, new Date(fixture.clock.now() + 1), now(), 200);
    expect([checked.ended.length, checked.mayFindMore]).toEqual([1, true]);
    await transaction.query('DELETE FROM activity.sessions WHERE guild_id = $1', [guildId]);
  });
});

test('a repeated end of a session writes no day again', async () => {
  await insertSessions(1, 30, true);
  const before = await storedDays();
  expect(before.length).toBeGreaterThan(29);
  const [session] = await fixture.database.query<{ id: string }>(
    'SELECT session_id AS id FROM activity.sessions WHERE guild_id = $1',
    [guildId],
  );
  const response = await fixture.post('/staff/game/session/end', { session_id: session?.id }, { guildId });
  expect([response.status, response.body.data.duration_seconds]).toEqual([200, 30 * 86_400]);
  expect(await storedDays()).toEqual(before);
});

test('sessions whose days have been erased are deleted a thousand at a time', async () => {
  await fixture.database.query('ALTER TABLE activity.sessions DISABLE TRIGGER USER');
  await insertSessions(1_000, 60, true);
  await fixture.database.query('ALTER TABLE activity.sessions ENABLE TRIGGER USER');
  const erased = await fixture.database.query('DELETE FROM activity.sessions WHERE guild_id = $1 RETURNING 1', [
    guildId,
  ]);
  expect(erased).toHaveLength(1_000);
});
