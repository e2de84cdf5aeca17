import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { Retention } from '#kit/postgres/retention.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { countGenericPlanRuns, scansOf } from '#test/postgres/explain.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { readActivityConfig } from '../config.ts';
import { NO_PEERS } from '../fixture.ts';
import { FEW, fillTables, ROWS } from '../fixtures/full-tables.ts';
import { retentionRules } from '../service.ts';
import * as admission from './admissions.ts';
import * as records from './command-records.ts';
import * as reports from './command-reports.ts';
import * as commands from './commands.ts';
import { addToDay } from './daily-counts.ts';
import * as guilds from './guilds.ts';
import * as leases from './leases.ts';
import * as newCommands from './new-commands.ts';
import * as servers from './servers.ts';
import * as sessions from './sessions.ts';
import * as staff from './staff.ts';
import * as staffRoles from './staff-roles.ts';

const GUILD = '900000000000000001';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  await fillTables(testDatabase.url, database);
}, 300_000);

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const now = new Date();
const later = new Date(now.getTime() + 30_000);
const command: commands.NewCommand = { type: 'ban', target: undefined, payload: {}, issuedBy: undefined };
const outgoing: newCommands.OutgoingCommand = {
  guildId: GUILD,
  command,
  key: { eventId: randomUUID(), request: { key: 'a key', hash: Buffer.from('') } },
  lifetime: { ttlSeconds: 60, notAfter: undefined },
  now,
};
const audience = { placeId: 1, excludedServerId: 's1', liveAt: now };
const lateAudience = { ...audience, liveAt: new Date(now.getTime() - 60_000) };
const requests = Array.from({ length: 50 }, (_, n) => ({
  guildId: GUILD,
  serverId: `s${n}`,
  limit: 20,
  leaseMs: 30_000,
}));
const leased: commands.LeasedCommand = {
  guildId: GUILD,
  serverId: 's1',
  commandId: randomUUID(),
  type: 'ban',
  targetGameId: null,
  targetGameUsername: null,
  payload: {},
  issuedBy: null,
  createdAt: now,
  expiresAt: later,
  attempt: 1,
  leasedUntil: later,
};
const ack: commands.Ack = {
  guildId: GUILD,
  serverId: 's1',
  commandId: randomUUID(),
  status: 'success',
  result: undefined,
  error: undefined,
};
const session: sessions.NewSession = {
  guildId: GUILD,
  sessionId: randomUUID(),
  gameId: 1,
  gameUsername: undefined,
  placeId: 1,
  serverId: 's',
};
const beats = Array.from({ length: 25 }, () => ({ sessionId: randomUUID(), idleSeconds: 1 }));
const game = { universeId: 1, placeId: 1, name: 'x', pluginVersion: undefined };
const action = {
  actionId: randomUUID(),
  actorGameId: 1,
  type: 'kick',
  targetGameId: undefined,
  placeId: undefined,
  serverId: undefined,
  details: undefined,
  occurredAt: now,
};
const staffRole = { chatRoleId: '910000000000000500', level: 1, name: 'x', permissions: [] };
const heartbeats = requests.map(({ guildId, serverId }) => ({
  guildId,
  serverId,
  placeId: 1,
  universeId: undefined,
  playerCount: 1,
  maxPlayers: 1,
  players: undefined,
  fps: undefined,
  ageSeconds: undefined,
  pluginVersion: undefined,
  isFinal: false,
  receivedAt: now,
}));
const admissions = heartbeats.map((heartbeat) => ({ heartbeat, isNew: true }));
const before = { createdAt: now, sequence: 9 };
const listBefore = (filter: Partial<records.CommandFilter>) => (on: Queryable) =>
  records.listCommands(on, GUILD, { before, since: undefined, limit: 100, ...filter }, now);
const liveChange = { guildId: GUILD, added: 1, earliest: now };

test.each<[string, (on: Queryable) => Promise<unknown>, string[]]>([
  ['saveHeartbeats', (on) => servers.saveHeartbeats(on, heartbeats), ['guilds_id', 'servers_counted', 'servers_guild']],
  ['readIntervals', (on) => servers.readIntervals(on, [GUILD]), ['guilds_id']],
  [
    'listServers',
    (on) => servers.listServers(on, GUILD, { placeId: 1, after: 's1', limit: 100 }, now),
    ['servers_counted'],
  ],
  ['countServers', (on) => servers.countServers(on, GUILD, 1, now), ['servers_counted']],
  ['lockGuilds', (on) => guilds.lockGuilds(on, [GUILD]), ['guilds_id']],
  ['sweepGuilds', (on) => guilds.sweepGuilds(on, [GUILD], now), ['servers_counted', 'servers_guild', 'guilds_id']],
  ['claimLapsing', (on) => guilds.claimLapsing(on, now, 100), ['guilds_lapsing']],
  ['findServers', (on) => admission.findServers(on, heartbeats), ['servers_guild']],
  [
    'reserveCommands',
    (on) => admission.reserveCommands(on, heartbeats.slice(0, 1), now),
    ['servers_guild', 'commands_queue'],
  ],
  ['addLiveServers', (on) => admission.addLiveServers(on, [liveChange]), ['guilds_id']],
  ['saveAdmissions', (on) => admission.saveAdmissions(on, admissions), ['guilds_id']],
  ['findRequest', (on) => newCommands.findRequest(on, GUILD, 'a key'), ['commands_request']],
  ['findDecision', (on) => newCommands.findDecision(on, GUILD, randomUUID()), ['commands_event']],
  [
    'insertServerCommand',
    (on) =>
      newCommands.insertServerCommand(
        on,
        { ...outgoing, lifetime: { ttlSeconds: undefined, notAfter: undefined } },
        's1',
      ),
    ['servers_guild', 'commands_queue', 'deliveries_queue'],
  ],
  [
    'insertSharedCommand',
    (on) => newCommands.insertSharedCommand(on, outgoing, audience),
    ['commands_queue', 'servers_counted', 'guilds_id'],
  ],
  [
    'insertSharedCommand, late',
    (on) => newCommands.insertSharedCommand(on, outgoing, lateAudience),
    ['commands_queue', 'servers_guild', 'guilds_id'],
  ],
  ['expireOldest', (on) => newCommands.expireOldest(on, GUILD, now), ['commands_queue', 'commands_id']],
  [
    'leaseCommands',
    (on) => leases.leaseCommands(on, requests),
    [
      'guilds_id',
      'servers_guild',
      'commands_queue',
      'commands_shared',
      'commands_id',
      'deliveries_queue',
      'deliveries_id',
    ],
  ],
  ['readLeaseEnds', (on) => leases.readLeaseEnds(on, requests), ['commands_queue', 'deliveries_queue']],
  ['releaseCommands', (on) => leases.releaseCommands(on, [leased]), ['commands_id', 'deliveries_id']],
  ['ackCommands', (on) => commands.ackCommands(on, [ack], now), ['commands_id', 'deliveries_id']],
  ['findAck', (on) => commands.findAck(on, ack), ['commands_id', 'deliveries_id']],
  ['listCommands', listBefore({ since: now }), ['commands_created', 'deliveries_id']],
  ['listCommands, open', listBefore({ state: 'open' }), ['commands_state', 'deliveries_id']],
  ['listCommands, finished', listBefore({ state: 'finished' }), ['commands_state', 'deliveries_id']],
  ['listCommands, cancelled', listBefore({ state: 'cancelled' }), ['commands_state', 'deliveries_id']],
  ['isStoredServer', (on) => servers.isStoredServer(on, GUILD, 's1'), ['servers_guild']],
  ['findCommand', (on) => records.findCommand(on, GUILD, randomUUID(), now), ['commands_id', 'deliveries_id']],
  [
    'listCommandServers',
    (on) => records.listCommandServers(on, GUILD, randomUUID(), 's1', 100),
    ['commands_id', 'deliveries_id', 'servers_guild'],
  ],
  ['cancelCommand', (on) => records.cancelCommand(on, GUILD, randomUUID(), now), ['commands_id', 'deliveries_id']],
  ['readUnacknowledged', (on) => records.readUnacknowledged(on, now, later), ['commands_finished', 'deliveries_id']],
  ['addToDay', (on) => addToDay(on, GUILD, 'actions', 100, now), []],
  ['endLapsed', (on) => sessions.endLapsed(on, session, now), ['sessions_open']],
  ['openSession', (on) => sessions.openSession(on, session, now).catch(() => 0), []],
  [
    'beatSessions',
    (on) => sessions.beatSessions(on, { guildId: GUILD, serverId: 's' }, beats, now, now),
    ['sessions_id', 'sessions_id'],
  ],
  ['endSession', (on) => sessions.endSession(on, GUILD, session.sessionId, '', now, now), ['sessions_id']],
  ['countGames', (on) => staff.countGames(on, GUILD), ['games_pkey']],
  ['insertGame', (on) => staff.insertGame(on, GUILD, game, now).catch(() => 0), ['games_pkey']],
  ['updateGame', (on) => staff.updateGame(on, GUILD, game, now), ['games_pkey']],
  ['insertAction', (on) => staff.insertAction(on, GUILD, action, now), []],
  ['endSilent', (on) => sessions.endSilent(on, now, now, 200), ['sessions_check', 'sessions_id']],
  ['claimExpiredCommands', (on) => reports.claimExpiredCommands(on, later, 50), ['commands_unreported', 'commands_id']],
  [
    'findCommands',
    (on) => reports.findCommands(on, [{ guildId: GUILD, commandId: randomUUID() }], now),
    ['commands_id', 'deliveries_id'],
  ],
  ['listStaffRoles', (on) => staffRoles.listStaffRoles(on, GUILD), ['staff_roles_guild']],
  ['saveStaffRole', (on) => staffRoles.saveStaffRole(on, GUILD, staffRole, now).catch(() => 0), []],
  ['deleteStaffRole', (on) => staffRoles.deleteStaffRole(on, GUILD, staffRole.chatRoleId), ['staff_roles_guild']],
])(`on ${ROWS} rows %s uses only index scans`, async (_name, statement, indexes) => {
  expect(new Set(await scansOf(database, statement))).toEqual(new Set(indexes));
});

test.each<[string, (on: Queryable) => Promise<unknown>]>([
  ['leaseCommands', (on) => leases.leaseCommands(on, requests.slice(0, 1))],
  ['readLeaseEnds', (on) => leases.readLeaseEnds(on, requests.slice(0, 1))],
  ['readIntervals', (on) => servers.readIntervals(on, [GUILD])],
  ['saveHeartbeats', (on) => servers.saveHeartbeats(on, heartbeats.slice(0, 1))],
])('PostgreSQL keeps the generic plan of %s', async (_name, statement) => {
  expect(await countGenericPlanRuns(database, statement)).toBe(5);
});

test.each([
  ['idempotency', 'idempotency_created'],
  ['commands', 'commands_finished'],
  ['deliveries', 'deliveries_expired'],
  ['daily_counts', 'daily_counts_day'],
  ['sessions', 'sessions_started'],
  ['actions', 'actions_created'],
  ['games', 'games_updated'],
])('retention finds the expired rows of %s through the index %s', async (table, index) => {
  const rules = rulesOf().filter((rule) => rule.table === `activity.${table}`);
  // The time at which the oldest row has just reached its maximum age.
  const [{ oldest } = { oldest: now }] = await database.query<{ oldest: Date }>(
    `SELECT min(${rules[0]?.column}) AS oldest FROM activity.${table}`,
  );
  const clock = new ManualClock(oldest.getTime() + 1 + (rules[0]?.seconds ?? 0) * 1000);
  const log = await createLog({ service: 'test', level: 'silent' });
  const scans = await scansOf(database, (on) => new Retention({ database: on, rules, clock, log }).sweep());
  expect(new Set(scans)).toEqual(new Set([`Tid Scan of ${table}`, index]));
});

test('retention finds lapsed servers by walking along the primary key in batches, and deletes no others', async () => {
  const rules = rulesOf().filter(({ table }) => table === 'activity.servers');
  const statements: Parameters<Queryable['query']>[] = [];
  const recording: Queryable = {
    query: (...statement) => {
      statements.push(statement);
      return database.query(...statement);
    },
  };
  const log = await createLog({ service: 'test', level: 'silent' });
  const retention = new Retention({ database: recording, rules, clock: new ManualClock(now.getTime()), log });
  const count = async (condition: string) =>
    (
      await database.query<{ count: number }>(`SELECT count(*)::int AS count FROM activity.servers WHERE ${condition}`)
    )[0]?.count;
  const hourAgo = `live_until < '${new Date(now.getTime() - 3_600_000).toISOString()}'`;
  const remaining = await count(`NOT ${hourAgo}`);
  await retention.sweep();
  // 50 batches of 1,000 a sweep.
  expect(await count(hourAgo)).toBeGreaterThan(FEW / 2 - 1_000);
  const plans = await Promise.all(
    statements.slice(0, 2).map((statement) => scansOf(database, (on) => on.query(...statement))),
  );
  expect(plans).toEqual([['servers_guild'], expect.arrayContaining(['Tid Scan of servers', 'servers_guild'])]);
  await retention.sweep();
  expect([await count(hourAgo), await count('true')]).toEqual([0, remaining]);
  // After the last batch the walk starts again.
  await database.query(`UPDATE activity.servers SET live_until = '2020-01-01' WHERE server_id = 's1'`);
  for (let count = 0; count < 2; count++) await retention.sweep();
  expect(await count('true')).toBe((remaining ?? 0) - 1);
});

test('rows of each table are deleted after the documented number of days', async () => {
  const days = rulesOf().map(({ table, seconds }) => [table.split('.')[1], seconds / 86_400]);
  expect(Object.fromEntries(days)).toEqual({
    idempotency: 1,
    commands: 7,
    deliveries: 7,
    wake_ups: 1,
    daily_counts: 2,
    sessions: 400,
    actions: 400,
    games: 400,
    servers: 1 / 24,
  });
});

const rulesOf = () => retentionRules(readActivityConfig({ ...testEnvironment(testDatabase.url), ...NO_PEERS }));
