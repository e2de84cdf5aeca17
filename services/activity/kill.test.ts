import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { databaseRows } from '#test/postgres/database.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

test('after kill -9 between the mark of what is due and its commit, another process reports everything once', async () => {
  const guildId = newGuild();
  const { url } = fixture.testDatabase;
  await fixture.activity.stop();
  // A server that has lapsed, a session without heartbeats and an expired command, by the clock of the machine.
  const query = (text: string) => databaseRows(url, text, [guildId]);
  await query(
    `INSERT INTO activity.servers (guild_id, server_id, place_id, player_count, max_players, heartbeat_at,
       interval_seconds, live_until, is_counted) VALUES ($1, 'a', 1, 1, 1, '2026-01-01', 15, '2026-01-01', true)`,
  );
  await query(`INSERT INTO activity.guilds (guild_id, live_servers, next_lapse_at) VALUES ($1, 1, '2026-01-01')`);
  await query(
    `INSERT INTO activity.sessions (guild_id, session_id, game_id, place_id, server_id, started_at, beat_at, check_at)
     VALUES ($1, gen_random_uuid(), 1, 1, 'a', '2026-01-01', '2026-01-01', '2026-01-01')`,
  );
  await query(
    `INSERT INTO activity.commands (guild_id, server_id, type, payload, created_at, expires_at)
     VALUES ($1, 'a', 'kick', '{}', '2026-01-01', '2026-01-01')`,
  );
  // The lock on the events blocks each transaction after it has marked its row.
  const waiting = async () =>
    (
      await databaseRows(
        url,
        `SELECT DISTINCT pid FROM pg_locks WHERE relation = 'activity.events'::regclass AND NOT granted`,
      )
    ).length;
  const locking = new Client({ connectionString: url });
  await locking.connect();
  await locking.query('BEGIN; LOCK TABLE activity.events IN EXCLUSIVE MODE');
  const { kill } = await fixture.startProcess(url);
  await expect.poll(waiting, { timeout: 20_000 }).toBe(3);
  await kill();
  await locking.end();
  expect(await fixture.events(guildId)).toEqual([]);
  // Ends the leases of the loops that the killed process owned.
  await fixture.advance(10_000);
  fixture.activity = await fixture.startActivity();
  const events = await fixture.eventsOf(guildId, ['server.offline', 'session.ended', 'command.finished'], 3);
  expect(new Set(events.map(({ type }) => type)).size).toBe(3);
  const left = await query(
    `SELECT (SELECT count(*)::int FROM activity.servers WHERE guild_id = $1 AND is_counted) AS servers,
       (SELECT count(*)::int FROM activity.sessions WHERE guild_id = $1 AND ended_at IS NULL) AS sessions,
       (SELECT count(*)::int FROM activity.commands WHERE guild_id = $1 AND reported_at IS NULL) AS commands`,
  );
  expect(left).toEqual([{ servers: 0, sessions: 0, commands: 0 }]);
}, 60_000);
