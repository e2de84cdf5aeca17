import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_RESERVED } from './domain/admissions.ts';
import { ActivityFixture, newGuild } from './fixture.ts';
import { MAX_OPEN_COMMANDS } from './store/new-commands.ts';

const SERVERS = 25;
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

  const order: string[] = [];
  const beat = async (server: string, guild: string) => {
    const response = await fixture.beat(server, {}, { guildId: guild });
    order.push(server);
    return response;
  };
  const [own, ...returned] = await Promise.all([
    beat('own', neighbour),
    ...servers.map((server) => beat(server, guildId)),
  ]);

  expect(returned.map(({ status }) => status)).toEqual(servers.map(() => 200));
  expect(returned.map(({ body }) => body.data.commands.length)).toEqual(servers.map(() => 20));
  expect(own).toMatchObject({ status: 200, body: { data: { commands: [{ command_id: commandIds[0] }] } } });
  const added = await reservedTogether(guildId);
  expect(added.reduce((sum, count) => sum + count)).toBe(SERVERS * MAX_OPEN_COMMANDS);
  expect(Math.max(...added)).toBeLessThanOrEqual(MAX_RESERVED);
  // The server with one command did not have to wait for those with many.
  expect(order.indexOf('own')).toBeLessThanOrEqual(MAX_RESERVED / MAX_OPEN_COMMANDS);
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
