// Upgrades from the release that stored a row of each command for each server: its rows are still served, and its
// processes can run on the new schema until all are replaced.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '#kit/postgres/migrations/migrate.ts';
import { databaseRows } from '#test/postgres/database.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const MIGRATIONS = join(import.meta.dirname, 'migrations');
/** The last migration of the previous release. */
const LAST_BEFORE = '0004';

class UpgradedFixture extends ActivityFixture {
  /** Inserts the rows that the previous release has stored before the upgrade. */
  storedBefore: (query: (text: string, values?: unknown[]) => Promise<object[]>) => Promise<unknown> = async () => 0;

  override async startActivity(environment = {}) {
    if (this.activity !== undefined) return super.startActivity(environment);
    const { url } = this.testDatabase;
    const query = (text: string, values?: unknown[]) => databaseRows(url, text, values);
    await query('DROP SCHEMA activity CASCADE');
    const directory = mkdtempSync(join(tmpdir(), 'migrations-'));
    cpSync(MIGRATIONS, directory, {
      recursive: true,
      filter: (path) => !/\d{4}_/.test(path) || (/(\d{4})_[^/]*$/.exec(path)?.[1] ?? '') <= LAST_BEFORE,
    });
    await migrate({ url, service: 'activity', directory });
    rmSync(directory, { recursive: true });
    await this.advance(Date.now() - this.clock.now());
    await this.storedBefore(query);
    await migrate({ url, service: 'activity', directory: MIGRATIONS });
    return super.startActivity(environment);
  }
}

const guildId = newGuild();
const fixture = new UpgradedFixture();
const INSERT = `INSERT INTO activity.commands (guild_id, server_id, event_id, type, target_game_id,
  target_game_username, payload, issued_by, created_at, expires_at)`;

beforeAll(async () => {
  fixture.storedBefore = async (query) => {
    for (const [server, until] of [
      ['a', '45 seconds'],
      ['b', '45 seconds'],
      ['lapsed', '-1 second'],
    ])
      await query(
        `INSERT INTO activity.servers (guild_id, server_id, place_id, player_count, max_players, heartbeat_at,
           interval_seconds, live_until) VALUES ($1, $2, 40001, 1, 1, now(), 15, now() + $3::interval)`,
        [guildId, server, until],
      );
    await query(
      `${INSERT} SELECT $1, unnest('{a,b}'::text[]), 'f3b0c442-98fc-4c14-9afb-f4c8996fb924', 'ban', 7001, NULL, '{}',
         'ada', now(), now() + interval '7 days'`,
      [guildId],
    );
    await query(
      `UPDATE activity.commands SET attempt = 1, leased_until = now() + interval '30 seconds'
       WHERE guild_id = $1 AND server_id = 'b'`,
      [guildId],
    );
  };
  await fixture.start();
});
afterAll(() => fixture.stop());

test('commands and live servers that the previous release stored are still served', async () => {
  const taken = await fixture.take('a', '', { guildId });
  expect(taken).toMatchObject([{ type: 'ban', issued_by: 'ada', attempt: 1 }]);
  expect((await fixture.ack('a', taken[0]?.command_id ?? '', {}, { guildId })).status).toBe(200);
  expect(await fixture.take('b', '', { guildId })).toEqual([]);
  await fixture.advance(31_000);
  const again = await fixture.take('b', '', { guildId });
  expect(again).toMatchObject([{ type: 'ban', attempt: 2 }]);
  expect((await fixture.enqueue({ guildId })).servers).toBe(2);
  const { servers } = await fixture.admin().listServers({ guildId, limit: 0, cursor: '' });
  expect(servers.map(({ serverId }) => serverId)).toEqual(['a', 'b']);
  expect(await fixture.take('a', '', { guildId })).toHaveLength(1);
  const { commands } = await fixture.admin().listCommands({ guildId, limit: 0 });
  expect(commands.map(({ outcome }) => outcome?.servers)).toEqual([2, 1, 1]);
});

test('a process of the previous release runs on the new schema, and its rows are served', async () => {
  const { database } = fixture;
  await fixture.advance(1_000);
  const now = new Date(fixture.clock.now());
  const heartbeat = (server: string) =>
    database.query(
      `INSERT INTO activity.servers (guild_id, server_id, place_id, universe_id, player_count, max_players, players, fps,
         age_seconds, plugin_version, heartbeat_at, interval_seconds, live_until)
       VALUES ($1, $2, 40001, NULL, 1, 1, NULL, NULL, NULL, NULL, $3, 15, $3::timestamptz + interval '45 seconds')
       ON CONFLICT (guild_id, server_id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at,
         live_until = excluded.live_until`,
      [guildId, server, now],
    );
  await heartbeat('a');
  await heartbeat('new');
  const [inserted] = await database.query<{ id: string }>(
    `${INSERT} VALUES ($1, 'a', NULL, 'kick', NULL, NULL, '{}', NULL, $2, $2::timestamptz + interval '2 minutes')
     RETURNING command_id AS id`,
    [guildId, now],
  );
  const { commandIds } = await fixture.enqueue({ guildId });
  // It leases commands for the named server, and does not see shared ones.
  const leased = await database.query<{ id: string }>(
    `UPDATE activity.commands SET attempt = attempt + 1, leased_until = $2::timestamptz + interval '30 seconds'
     WHERE guild_id = $1 AND server_id = 'a' AND acked_at IS NULL AND expires_at > $2
       AND (leased_until IS NULL OR leased_until <= $2) RETURNING command_id AS id`,
    [guildId, now],
  );
  expect(leased).toEqual([inserted]);
  const taken = await fixture.take('a', '', { guildId });
  expect(taken.map(({ command_id: id }) => id)).toEqual(commandIds);
  const { commands } = (await fixture.beat('new', {}, { guildId })).body.data;
  expect(commands.map((command: { command_id: string }) => command.command_id)).toEqual(commandIds);
});
