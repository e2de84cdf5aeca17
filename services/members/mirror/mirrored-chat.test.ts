// Guarantee: a mirror that cannot be read costs calls to the platform and no wrong answers, and a fault in it is logged.
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { PlatformsFixture } from '#platforms/fixture.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { GUILD } from '../fixture.ts';
import { MirrorTelemetry } from '../telemetry/mirror.ts';
import { MirroredChat } from './mirrored-chat.ts';

const ADA = '920000000000000001';
const OFFICER = '910000000000000001';
const EPOCH = '00000000-0000-4000-8000-000000000000';

let testDatabase: TestDatabase;
let database: Database;
let platforms: PlatformsFixture;
let logged: string[];

beforeAll(async () => {
  [testDatabase, platforms] = await Promise.all([createTestDatabase(), PlatformsFixture.start()]);
  database = await openTestPool(testDatabase.url);
  await database.query(
    `INSERT INTO members.chat_shards (shard_count, shard_id, bot_id, epoch, live_until)
     VALUES (1, 0, '930000000000000001', $1, 'infinity')`,
    [EPOCH],
  );
  // A role without a name, which no release has stored.
  await database.query(
    `INSERT INTO members.mirror_guilds (guild_id, shard_count, shard_id, session_epoch, epoch, roles, bot_roles, seen_at, used_at)
     VALUES ($1, 1, 0, $2, $2, '[{"id": "1"}]', '{}', now(), now())`,
    [GUILD, EPOCH],
  );
});
beforeEach(() => {
  logged = [];
});
afterAll(async () => {
  await platforms.stop();
  await testDatabase.drop();
});

function mirrored(): MirroredChat {
  const log = pino({ level: 'info' }, { write: (line) => logged.push(line) });
  const telemetry = new MirrorTelemetry(new Metrics(), log);
  return new MirroredChat({
    chat: platforms.discord(),
    database,
    hasGateway: true,
    ttlSeconds: 0,
    maxOldSeconds: 60,
    telemetry,
  });
}

test('roles that cannot be read are read from the platform, which is logged once a minute', async () => {
  const chat = mirrored();
  for (let read = 0; read < 3; read++) {
    expect((await chat.roles(GUILD)).map(({ id }) => id)).toContain(OFFICER);
  }
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('mirror of the chat platform cannot be read');
});

test('a guild that the bot left and joined again has its new roles at once', async () => {
  const chat = mirrored();
  const guildId = '900000000000000099';
  const namesAfterJoin = async (name: string) => {
    await database.query('DELETE FROM members.mirror_guilds WHERE guild_id = $1', [guildId]);
    const roles = JSON.stringify([{ id: '1', name, position: 1, permissions: '0', managed: false, color: 0 }]);
    await database.query(
      `INSERT INTO members.mirror_guilds (guild_id, shard_count, shard_id, session_epoch, epoch, roles, bot_roles, seen_at, used_at)
       VALUES ($1, 1, 0, $2, gen_random_uuid(), $3, '{}', now(), now())`,
      [guildId, EPOCH, roles],
    );
    return (await chat.roles(guildId)).map((role) => role.name);
  };
  expect(await namesAfterJoin('First')).toEqual(['First']);
  expect(await namesAfterJoin('Second')).toEqual(['Second']);
});

test('while the database is down everything is read from the platform, and the mirror logs nothing', async () => {
  await database.close();
  const chat = mirrored();
  expect((await chat.roles(GUILD)).map(({ id }) => id)).toContain(OFFICER);
  expect((await chat.member(GUILD, ADA))?.roles).toContain(OFFICER);
  expect(logged).toEqual([]);
});
