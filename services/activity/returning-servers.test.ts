import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_RESERVED } from './domain/admissions.ts';
import { MAX_POSTPONED_MS, MAX_POSTPONED_OF_GUILD } from './domain/heartbeats.ts';
import { ActivityFixture, newGuild, PLACE } from './fixture.ts';
import { admissionsOf, heartbeatOf } from './fixtures/admissions.ts';
import { MAX_OPEN_COMMANDS } from './store/new-commands.ts';

const SERVERS = 25;
const MAX_LIVE = 2_000;
const HOUR_SECONDS = 3_600;

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

/** Inserts commands for all live servers of a guild, as if they had been sent one after another. */
async function sendMany(guildId: string, count: number): Promise<void> {
  await fixture.database.query(
    `WITH sent AS (
       INSERT INTO activity.commands (guild_id, server_id, type, payload, created_at, live_at, expires_at, servers)
       SELECT $1, '', 'message', '{}', $2, $2, $2::timestamptz + $3 * interval '1 second', 1 FROM generate_series(1, $4)
       RETURNING place
     )
     UPDATE activity.guilds SET last_place = (SELECT max(place) FROM sent) WHERE guild_id = $1`,
    [guildId, new Date(fixture.clock.now()), HOUR_SECONDS, count],
  );
  // Autovacuum does this in production. Without statistics PostgreSQL would choose an index that does not match.
  await fixture.database.query('ANALYZE activity.commands');
}

/** Stores game servers of a new guild that were live until now, with commands that they have not fetched. */
async function lapsedServers(guildId: string, count: number, commands: number): Promise<string[]> {
  await fixture.database.query('INSERT INTO activity.guilds (guild_id) VALUES ($1)', [guildId]);
  const rows = await fixture.database.query<{ serverId: string }>(
    `INSERT INTO activity.servers (guild_id, server_id, place_id, player_count, max_players, heartbeat_at,
       interval_seconds, live_until, is_counted, cursor)
     SELECT $1, 's' || n, $2, 0, 30, $3, 15, $3::timestamptz + interval '45 s', false, 0 FROM generate_series(1, $4) n
     RETURNING server_id AS "serverId"`,
    [guildId, PLACE, new Date(fixture.clock.now()), count],
  );
  await sendMany(guildId, commands);
  await fixture.advance(60_000);
  return rows.map(({ serverId }) => serverId);
}

/** The number of commands that are reserved for each server of a guild that has returned. */
async function reservedByServer(guildId: string): Promise<Map<string, number>> {
  const rows = await fixture.database.query<{ serverId: string; commands: number }>(
    `SELECT server_id AS "serverId", count(*)::int AS commands FROM activity.deliveries WHERE guild_id = $1 GROUP BY 1`,
    [guildId],
  );
  return new Map(rows.map(({ serverId, commands }) => [serverId, commands]));
}

/** Sends heartbeats of servers, and expects that each gets its first commands and that none of its commands is lost. */
async function expectReturn(guildId: string, servers: readonly string[]): Promise<void> {
  const responses = await Promise.all(servers.map((server) => fixture.beat(server, {}, { guildId })));
  expect(responses.map(({ status }) => status)).toEqual(servers.map(() => 200));
  expect(responses.map(({ body }) => body.data.commands.length)).toEqual(servers.map(() => 20));
  const reserved = await reservedByServer(guildId);
  expect(servers.map((server) => reserved.get(server))).toEqual(servers.map(() => MAX_OPEN_COMMANDS));
}

/** The number of reservations that each transaction added. */
async function reservedTogether(guildId: string): Promise<number[]> {
  const rows = await fixture.database.query<{ added: number }>(
    'SELECT count(*)::int AS added FROM activity.deliveries WHERE guild_id = $1 GROUP BY xmin::text',
    [guildId],
  );
  return rows.map(({ added }) => added);
}

test('a batch of returning servers reserves a limited number of commands, and no server loses one', async () => {
  const [guildId, neighbour] = [newGuild(), newGuild()];
  const servers = Array.from({ length: SERVERS }, (_, n) => `s${n}`);
  await Promise.all(servers.map((server) => fixture.beat(server, {}, { guildId })));
  await fixture.beat('own', {}, { guildId: neighbour });
  await sendMany(guildId, MAX_OPEN_COMMANDS);
  const { commandIds } = await fixture.enqueue({ guildId: neighbour, ttlSeconds: HOUR_SECONDS });
  await fixture.advance(60_000);

  const [own, ...returned] = await Promise.all([
    fixture.beat('own', {}, { guildId: neighbour }),
    ...servers.map((server) => fixture.beat(server, {}, { guildId })),
  ]);

  expect(returned.map(({ status }) => status)).toEqual(servers.map(() => 200));
  expect(returned.map(({ body }) => body.data.commands.length)).toEqual(servers.map(() => 20));
  expect(own).toMatchObject({ status: 200, body: { data: { commands: [{ command_id: commandIds[0] }] } } });
  const added = await reservedTogether(guildId);
  expect(added.reduce((sum, count) => sum + count)).toBe(SERVERS * MAX_OPEN_COMMANDS);
  expect(Math.max(...added)).toBeLessThanOrEqual(MAX_RESERVED);
});

test('a returning server with few commands is not postponed because of servers of other guilds with many', async () => {
  const [guildId, neighbour] = [newGuild(), newGuild()];
  const servers = await lapsedServers(guildId, SERVERS, MAX_OPEN_COMMANDS);
  const [own = ''] = await lapsedServers(neighbour, 1, 1);
  const now = fixture.clock.now();
  const heartbeats = [...servers.map((server) => heartbeatOf(guildId, server, now)), heartbeatOf(neighbour, own, now)];
  const results = await admissionsOf(fixture, MAX_LIVE).admit(heartbeats);
  expect(results.at(-1)).toMatchObject({ isPostponed: false, intervalSeconds: 15 });
  expect([...(await reservedByServer(neighbour))]).toEqual([[own, 1]]);
  const returned = results.slice(0, -1).filter(({ isPostponed }) => !isPostponed);
  expect(returned).toHaveLength(Math.floor((MAX_RESERVED - 1) / MAX_OPEN_COMMANDS));
});

test(`of a guild at most ${MAX_POSTPONED_OF_GUILD} heartbeats are postponed, for at most ${MAX_POSTPONED_MS} ms; the others get 503, and no command is lost`, async () => {
  const guildId = newGuild();
  const servers = await lapsedServers(guildId, MAX_POSTPONED_OF_GUILD + 300, MAX_OPEN_COMMANDS);
  const rejected: { server: string; status: number; retryAfter: string | null }[] = [];
  const returning = servers.map(async (server) => {
    const { status, headers } = await fixture.beat(server, {}, { guildId });
    if (status !== 200) rejected.push({ server, status, retryAfter: headers.get('retry-after') });
  });
  // Those above the limit are rejected at once, because the time stands still.
  await expect.poll(() => rejected.length, { timeout: 20_000 }).toBeGreaterThan(0);
  expect((await fixture.beat('new', {}, { guildId: newGuild() })).status).toBe(200);
  await fixture.advance(MAX_POSTPONED_MS);
  await Promise.all(returning);
  expect(servers.length - rejected.length).toBeLessThan(MAX_POSTPONED_OF_GUILD);
  expect(rejected).toEqual(rejected.map(({ server }) => ({ server, status: 503, retryAfter: '5' })));
  expect((await fixture.beat('new', {}, { guildId: newGuild() })).status).toBe(200);
  const repeating = [...rejected.slice(0, 3), ...rejected.slice(-3)];
  await expectReturn(
    guildId,
    repeating.map(({ server }) => server),
  );
});

test('a postponed heartbeat whose client has disconnected does not stay in the queue', async () => {
  const [guildId, neighbour] = [newGuild(), newGuild()];
  const servers = await lapsedServers(guildId, 60, MAX_OPEN_COMMANDS);
  const disconnect = new AbortController();
  const returning = servers.map((server) => fixture.beat(server, {}, { guildId, signal: disconnect.signal }));
  await expect.poll(async () => (await reservedByServer(guildId)).size).toBeGreaterThan(0);
  disconnect.abort();
  await Promise.allSettled(returning);
  // Each of these servers starts in another batch. Together the batches could reserve the commands of all 60 servers.
  for (let n = 0; n < 15; n++) expect((await fixture.beat(`new${n}`, {}, { guildId: neighbour })).status).toBe(200);
  const reserved = await reservedByServer(guildId);
  const unserved = servers.filter((server) => !reserved.has(server));
  expect(unserved).not.toEqual([]);
  await expectReturn(guildId, unserved.slice(0, 6));
});

test('returning servers that have fetched everything, or that are over the quota, are not postponed', async () => {
  const guildId = newGuild();
  const small = await fixture.startActivity({ MAX_LIVE_SERVERS: '1' });
  await fixture.beat('a', {}, { guildId, at: small });
  await sendMany(guildId, MAX_OPEN_COMMANDS);
  await fixture.advance(60_000);
  expect((await fixture.beat('b', {}, { guildId, at: small })).status).toBe(200);
  expect((await fixture.beat('a', {}, { guildId, at: small })).status).toBe(409);
  expect(await reservedTogether(guildId)).toEqual([]);
  await fixture.beat('b', { final: true }, { guildId, at: small });
  expect((await fixture.beat('b', {}, { guildId, at: small })).status).toBe(200);
  expect(await reservedTogether(guildId)).toEqual([]);
  await small.stop();
});
