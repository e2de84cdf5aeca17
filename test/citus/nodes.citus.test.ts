// Clients write while the data of one server moves to a cluster, while a shard moves to another worker, while a worker is killed
// and started again, and while standbys take the place of a killed worker and of the killed coordinator.
import { join } from 'node:path';
import pLimit from 'p-limit';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { freePorts } from '#local/ports.ts';
import { migrateAll } from '../../deploy/migrate.ts';
import { expectEventsWithoutGaps, expectStoredOnce } from '../failover/comparisons.ts';
import { identities } from '../failover/processes.ts';
import { GUILDS, SteadyWriter } from '../failover/steady-writer.ts';
import { Deployment } from '../failure/deployment.ts';
import { printFigure, round } from '../measure/figures.ts';
import { PATIENCE } from '../patience.ts';
import { databaseRows } from '../postgres/database.ts';
import { testRedisUrl } from '../redis/database.ts';
import { verifyAudit } from '../restore/restored-system.ts';
import { createFolder, createServerFolder, removeFolder, type Server } from '../restore/server.ts';
import { CitusCluster, createCitusDatabase } from './cluster.ts';
import { findCitus, NOT_CHECKED } from './installation.ts';
import { migrate } from './migrate-program.ts';

/** What is committed survives a crash of a server. */
const DURABLE = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };
/** The maximum pause in milliseconds between two acknowledged writes for the guilds of a shard that moves; 2 to 11 s were measured. */
const MAX_PAUSE_MS = 30_000;
/** Guilds whose data is read at a time. */
const READERS = 16;
const WAIT = { ...PATIENCE, timeout: 90_000, interval: 50 };

const DATABASE = 'guild_data';

const folder = createServerFolder();
/** The port that the standby of the coordinator will have. */
let standbyPort: number;
let cluster: CitusCluster;
let deployment: Deployment;
let writer: SteadyWriter;
/** The identities of the processes that were started after the move to the cluster. The last test checks that none was restarted. */
let started: string[];
/** The URL of the database on the coordinator. */
let url: string;

beforeAll(async () => {
  const installation = findCitus();
  if (!installation) throw new Error(NOT_CHECKED);
  cluster = await CitusCluster.start(installation, createFolder(join(folder, 'citus')), DURABLE);
  const nodes = cluster.nodes.map((node) => node.url('postgres'));
  // The coordinator is the server that was alone before.
  url = await createCitusDatabase(nodes, DATABASE);
  await migrateAll(url);
  [standbyPort = 0] = await freePorts(1);
  const { host, pathname } = new URL(url);
  deployment = new Deployment({
    databaseUrl: `postgres://postgres@${host},127.0.0.1:${standbyPort}${pathname}?target_session_attrs=read-write`,
    redisUrl: await testRedisUrl(),
    replicas: 1,
    guilds: GUILDS,
  });
  await deployment.start();
  writer = new SteadyWriter(deployment.api, deployment.keys);
  writer.start();
}, 240_000);
afterAll(async () => {
  await deployment?.stop();
  await cluster?.stop();
  removeFolder(folder);
}, 60_000);

/** A guild, the shard of lookup.links that has its rows, and the port of the worker that stores it. */
interface PlacedGuild {
  guild: string;
  shard: number;
  port: number;
}

const placedGuilds = () =>
  databaseRows<PlacedGuild>(
    url,
    `SELECT guild, shardid::int AS shard, nodeport AS port FROM unnest($1::text[]) AS guild
     JOIN citus_shards ON shardid = get_shard_id_for_distribution_column('lookup.links', guild)`,
    [GUILDS],
  );

/** Sends two reads and a write for a guild, each with its own key, and returns the status codes of the responses. */
async function statusesOf(guild: string): Promise<string> {
  const headers = { 'x-api-key': deployment.keys.get(guild) ?? '', 'x-guild-id': guild };
  const post = (path: string, body: object) =>
    fetch(deployment.api + path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const heartbeat = { guild_id: guild, server_id: 'probe', place_id: 1, player_count: 0, max_players: 1 };
  const responses = await Promise.all([
    fetch(`${deployment.api}/lookup/game/1`, { headers }),
    post(`/moderation/${guild}/game/status`, { game_ids: [1] }),
    post('/game/servers/heartbeat', heartbeat),
  ]);
  return responses.map(({ status }) => status).join();
}

/**
 * Sends two reads and a write for each guild, and repeats that until all responses are those expected while the worker at `port` is
 * down: 503 for each request of its guilds and for each write, and successful reads for the other guilds. 404 is the response for a
 * game account without a link.
 */
async function expectOnlyReadsBut(port: number): Promise<void> {
  const guilds = await placedGuilds();
  const down = guilds.filter((placed) => placed.port === port).length;
  const limit = pLimit(READERS);
  await vi.waitFor(async () => {
    const counts: Record<string, number> = {};
    const request = async (placed: PlacedGuild) => {
      const kind = `${placed.port === port ? 'down' : 'up'}: ${await statusesOf(placed.guild)}`;
      counts[kind] = (counts[kind] ?? 0) + 1;
    };
    await Promise.all(guilds.map((placed) => limit(request, placed)));
    expect(counts).toEqual({ 'down: 503,503,503': down, 'up: 404,200,503': guilds.length - down });
  }, WAIT);
}

/** The longest time in milliseconds between two acknowledgements for some guilds since `from`. */
function longestPause(from: number, guilds: ReadonlySet<string>): number {
  const acknowledged = writer.acknowledged.filter(({ guild, at }) => guilds.has(guild) && at > from);
  const times = [from, ...acknowledged.map(({ at }) => at), performance.now()];
  return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at)));
}

// The last test checks that nothing is lost that was acknowledged before, during or after the move.
test('the data of one server moves to a cluster while clients repeat their writes', async () => {
  await vi.waitUntil(() => writer.allKindsAt(0), WAIT);
  const begun = performance.now();
  await deployment.stopReplicas();
  const program = await migrate({ DATABASE_URL: url, CITUS: 'true' });
  expect(program).toMatchObject({ status: 0 });
  const moved = performance.now();
  await deployment.startReplicas();
  started = identities(deployment);
  const back = await vi.waitUntil(() => writer.allKindsAt(moved), WAIT);
  printFigure(
    'Citus, move of one server to a cluster until writes of all kinds succeed',
    `${round((back - begun) / 1_000)} s`,
  );
  const used = await databaseRows<{ port: number }>(url, 'SELECT DISTINCT nodeport AS port FROM citus_shards');
  expect(used.map(({ port }) => port)).toEqual(expect.arrayContaining(cluster.workers.map(({ port }) => port)));
}, 240_000);

test('while a shard moves to another worker, writes of all kinds are acknowledged, also those of its guilds', async () => {
  await vi.waitUntil(() => writer.allKindsAt(0), WAIT);
  const [from, to] = cluster.workers.map(({ port }) => port);
  const placed = await placedGuilds();
  const moved = placed.find(({ port }) => port === from)?.shard;
  const guilds = placed.filter(({ shard }) => shard === moved).map(({ guild }) => guild);
  const { repeats } = writer;
  const begun = performance.now();
  await databaseRows(url, `SELECT citus_move_shard_placement($1, '127.0.0.1', $2, '127.0.0.1', $3, 'force_logical')`, [
    moved,
    from,
    to,
  ]);
  const ended = performance.now();
  expect((await placedGuilds()).filter(({ shard, port }) => shard === moved && port === to)).toHaveLength(
    guilds.length,
  );
  const during = writer.acknowledged.filter(({ at }) => at > begun && at < ended);
  expect(new Set(during.map(({ kind }) => kind)).size).toBe(4);
  await vi.waitUntil(() => writer.allKindsAt(ended), WAIT);
  printFigure('Citus, shard moved while clients write', `${round((ended - begun) / 1_000)} s`);
  const pause = longestPause(begun, new Set(guilds));
  printFigure('Citus, longest pause between two acknowledged writes of the moved guilds', `${round(pause)} ms`);
  printFigure('Citus, writes that were repeated meanwhile', `${writer.repeats - repeats}`);
  expect(pause).toBeLessThan(MAX_PAUSE_MS);
}, 180_000);

/** Kills a node, and waits until clients repeat writes that are not acknowledged. */
async function kill(node: Server): Promise<void> {
  const { repeats } = writer;
  await node.kill();
  await vi.waitUntil(() => writer.repeats > repeats + 50, WAIT);
}

test('while a worker is down the guilds of other workers are read, and once it has started again all kinds of writes succeed', async () => {
  const [killed] = cluster.workers as [Server];
  await kill(killed);
  await expectOnlyReadsBut(killed.port);
  await vi.waitFor(() => killed.startAgain(), WAIT);
  const startedAt = performance.now();
  const back = await vi.waitUntil(() => writer.allKindsAt(startedAt), WAIT);
  printFigure(
    'Citus, worker started again until writes of all kinds succeed',
    `${round((back - startedAt) / 1_000)} s`,
  );
}, 240_000);

/**
 * Starts a synchronous standby of a node, kills the node while clients write, promotes the standby, and gives its address to the coordinator
 * (`citus_update_node`). Returns the standby after a write of each kind was acknowledged. `name` is the node's in the printed figure,
 * `port` the port of the standby.
 */
async function replace(node: Server, name: string, port?: number): Promise<Server> {
  const standby = await cluster.startStandby(node, port);
  const replicated = performance.now();
  await vi.waitUntil(() => writer.allKindsAt(replicated), WAIT);
  await kill(node);
  const promoting = performance.now();
  expect(await databaseRows(standby.url(DATABASE), 'SELECT pg_promote() AS promoted')).toEqual([{ promoted: true }]);
  if (node === cluster.coordinator) url = standby.url(DATABASE);
  await databaseRows(
    url,
    `SELECT citus_update_node(nodeid, '127.0.0.1', $2, force => true) FROM pg_dist_node WHERE nodeport = $1`,
    [node.port, standby.port],
  );
  const replaced = performance.now();
  const back = await vi.waitUntil(() => writer.allKindsAt(replaced), WAIT);
  const [total, command] = [back - promoting, replaced - promoting].map((ms) => round(ms / 1_000));
  printFigure(
    `Citus, promotion of the standby of ${name} until writes of all kinds succeed`,
    `${total} s, of which ${command} s until the coordinator uses it`,
  );
  return standby;
}

test('the standby of a killed worker takes its place, and its guilds are written', async () => {
  const [, worker] = cluster.workers as [Server, Server];
  const standby = await replace(worker, 'a worker');
  const replaced = performance.now();
  const guilds = await placedGuilds();
  expect(guilds.filter(({ port }) => port === worker.port)).toEqual([]);
  const moved = new Set(guilds.filter(({ port }) => port === standby.port).map(({ guild }) => guild));
  await vi.waitUntil(() => writer.acknowledged.some(({ guild, at }) => at > replaced && moved.has(guild)), WAIT);
}, 240_000);

test('the standby of the killed coordinator takes its place, and nothing acknowledged in any test is lost or applied twice', async () => {
  await replace(cluster.coordinator, 'the coordinator', standbyPort);
  await writer.stop();
  expect(writer.faults).toEqual([]);
  // 502 and 504 are those of the gateway while services stop or hang.
  const others = [...writer.repeatedStatuses.keys()].filter((status) => ![0, 409, 429, 502, 503, 504].includes(status));
  expect(others).toEqual([]);
  expect(identities(deployment)).toEqual(started);
  await expectStoredOnce(url, writer.acknowledged);
  await expectEventsWithoutGaps(url);
  await verifyAudit(deployment);
  printFigure('Citus, acknowledged writes of which none was lost or applied twice', `${writer.acknowledged.length}`);
}, 240_000);
