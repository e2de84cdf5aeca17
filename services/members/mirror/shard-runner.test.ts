import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { type Simulators, startSimulators } from '#local/simulators/main.ts';
import { World } from '#local/simulators/world.ts';
import { PATIENCE } from '#test/patience.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import * as store from '../store/chat-shards.ts';
import { MirrorTelemetry } from '../telemetry/mirror.ts';
import { MirrorWriter, type PreparedEvent } from './mirror-writer.ts';
import { ShardRunner } from './shard-runner.ts';
import { WaitingEvents, WaitingTotal } from './waiting-events.ts';

const GUILDS = 200;
const ROLES = 100;
const MAX_PARTS = 1_000;

let testDatabase: TestDatabase;
let database: Database;
let simulators: Simulators;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  const bot = { id: '930000000000000001', roles: [] };
  const roleOf = (guild: number, role: number) => {
    const id = String(910000000000000000n + BigInt(guild * 1_000 + role));
    return { id, name: `Role ${role}`, position: role + 1 };
  };
  const guilds = Array.from({ length: GUILDS }, (_, index) => ({
    id: String(900000000000000000n + (BigInt(index) << 22n)),
    name: `Guild ${index}`,
    roles: Array.from({ length: ROLES }, (_role, role) => roleOf(index, role)),
    bot,
  }));
  simulators = await startSimulators({ limitScale: 1_000, world: new World({ chat: { guilds } }) });
});
afterAll(async () => {
  await database.close();
  await simulators.stop();
  await testDatabase.drop();
});

/** Records how much has waited at most. */
class ObservedEvents extends WaitingEvents {
  maxParts = 0;

  override add(event: PreparedEvent): void {
    super.add(event);
    this.maxParts = Math.max(this.maxParts, this.parts);
  }
}

test('a shard that begins with more than may wait in memory closes its connection until it is stored, and resumes', async () => {
  const telemetry = new MirrorTelemetry(new Metrics(), pino({ level: 'silent' }));
  const writer = new MirrorWriter({ onChanges: [], telemetry });
  const waiting = new ObservedEvents(new WaitingTotal({ maxParts: MAX_PARTS }));
  const holder = randomUUID();
  await store.addShards(database, 1);
  const shard = (await store.claimShard(database, 1, holder, 60_000)) as store.OwnedShard;
  const url = `${simulators.chat.replace('http', 'ws')}/gateway`;
  const connection = { url, token: 'test-bot-token', admitIdentify: async () => undefined };
  const runner = new ShardRunner({ database, writer, telemetry, shard, holder, connection, waiting });
  const running = runner.run();
  await vi.waitUntil(() => runner.isLive, PATIENCE);
  runner.stop();
  await running;
  const [stored] = await databaseRows<{ guilds: number; roles: number; sessions: number }>(
    testDatabase.url,
    `SELECT count(*)::integer AS guilds, sum(jsonb_array_length(roles))::integer AS roles,
       count(DISTINCT session_epoch)::integer AS sessions FROM members.mirror_guilds`,
  );
  // Each guild also has the role @everyone.
  expect(stored).toEqual({ guilds: GUILDS, roles: GUILDS * (ROLES + 1), sessions: 1 });
  // The bot is one more part of each guild.
  expect(waiting.maxParts).toBeLessThanOrEqual(MAX_PARTS + ROLES + 2);
  expect(waiting.maxParts).toBeGreaterThanOrEqual(MAX_PARTS);
  const view = await (await fetch(`${simulators.chat}/__gateway`)).json();
  expect(view).toMatchObject({ identified: 1 });
  expect((view as { resumed: number }).resumed).toBeGreaterThan(0);
});
