// Measures a system that `npm start` runs: memory, connections and file descriptors at rest, CPU per request, and memory
// per waiting poll. Run `npm run -s bench:sizing` with the same DATA_DIR. It creates keys and game servers there.
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { z } from 'zod';
import { systemClock } from '#kit/clock.ts';
import { inParallel } from '#kit/resilience/parallel.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { scrapeSeries } from '../measure/exposition.ts';
import { connect } from '../network/grpc.ts';

const FOLDER = process.env['DATA_DIR'] ?? '.data';
const KEYS = 20;
/** Slightly less than the limit of a key per minute. */
const CALLS_A_KEY = 290;
const CALLERS = 8;
const POLLS = 1_000;
const POLL_SECONDS = 25;

const upSchema = z.object({
  gateway: z.string(),
  services: z.record(z.string(), z.object({ pid: z.number(), grpc: z.string().nullish(), admin: z.string() })),
  database: z.string(),
  redis: z.string().nullable(),
});
const up = upSchema.parse(JSON.parse(readFileSync(join(FOLDER, 'up.json'), 'utf8')));
const agent = new Agent({ keepAlive: true, maxSockets: 2 * POLLS });

interface Caller {
  guildId: string;
  key: string;
}

async function makeKeys(): Promise<Caller[]> {
  const secret = readFileSync(join(FOLDER, 'secrets/admin'), 'utf8').trim();
  const address = up.services['auth']?.grpc ?? '';
  const { client, close } = connect(KeyAdminServiceService, 'auth', address, systemClock, [secret]);
  const first = BigInt(Date.now());
  const callers: Caller[] = [];
  for (let made = 0; made < KEYS; made++) {
    const guildId = String(970_000_000_000_000_000n + first * 10n + BigInt(made % 10));
    const named = { guildId, name: 'sizing', legacy: true, scopes: [], ipAllowlist: [], actor: 'sizing' };
    callers.push({ guildId, key: (await client.createKey(named)).secret });
  }
  close();
  return callers;
}

/** Resolves with the status; a body is sent as JSON. */
function call({ guildId, key }: Caller, path: string, body?: object): Promise<number> {
  const headers = { 'x-api-key': key, 'x-guild-id': guildId, ...(body && { 'content-type': 'application/json' }) };
  const options = { agent, headers };
  return new Promise((resolve, reject) => {
    const outgoing = request(`${up.gateway}/api/v1${path}`, { ...options, method: body ? 'POST' : 'GET' }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    });
    outgoing.once('error', reject).end(body && JSON.stringify({ guild_id: guildId, ...body }));
  });
}

async function metric(service: string, name: string): Promise<number> {
  const series = await scrapeSeries(new URL(up.services[service]?.admin ?? '').host);
  return series.find((one) => one.name === name)?.value ?? Number.NaN;
}

const memory = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
const descriptors = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;
const mebibytes = (kibibytes: number) => Math.round(kibibytes / 1024);

async function connections(): Promise<Record<string, number>> {
  const client = new Client({ connectionString: up.database, application_name: 'sizing' });
  await client.connect();
  const { rows } = await client.query<{ name: string; count: number }>(
    `SELECT application_name AS name, count(*)::int FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND application_name NOT IN ('', 'sizing') GROUP BY 1 ORDER BY 1`,
  );
  await client.end();
  const found = Object.fromEntries(rows.map(({ name, count }) => [`PostgreSQL, ${name}`, count]));
  if (!up.redis) return found;
  const redis = new Redis(up.redis);
  const list = String(await redis.client('LIST'));
  redis.disconnect();
  for (const [, name] of list.matchAll(/ name=(\S+)/g)) found[`Redis, ${name}`] = (found[`Redis, ${name}`] ?? 0) + 1;
  return found;
}

/** CPU seconds of each process so far. */
async function cpu(): Promise<Record<string, number>> {
  const names = Object.keys(up.services);
  const seconds = await Promise.all(names.map((name) => metric(name, 'process_cpu_seconds_total')));
  return Object.fromEntries(names.map((name, index) => [name, seconds[index] ?? 0]));
}

/** CPU microseconds per request of the gateway and of the service, without their CPU time at rest. */
async function drive(service: string, callers: Caller[], one: (caller: Caller, count: number) => Promise<number>) {
  const idleFrom = await cpu();
  await pause(5_000);
  const from = await cpu();
  const started = performance.now();
  const counts = Array.from({ length: CALLS_A_KEY }, (_, count) => count);
  const work = counts.flatMap((count) => callers.map((caller) => () => one(caller, count)));
  const statuses = await inParallel(work, CALLERS, (each) => each());
  const seconds = (performance.now() - started) / 1000;
  const to = await cpu();
  if (statuses.some((status) => status !== 200)) throw new Error(`not all were answered with 200: ${service}`);
  const of = (name: string) => {
    const idle = ((from[name] ?? 0) - (idleFrom[name] ?? 0)) / 5;
    return Math.round((((to[name] ?? 0) - (from[name] ?? 0) - idle * seconds) / work.length) * 1e6);
  };
  return {
    gateway: of('gateway'),
    service: of(service),
    requests: work.length,
    'per second': Math.round(work.length / seconds),
  };
}

async function waitingPolls(callers: Caller[]) {
  const pids = [up.services['gateway']?.pid ?? 0, up.services['activity']?.pid ?? 0] as const;
  const before = pids.map((pid) => ({ memory: memory(pid), descriptors: descriptors(pid) }));
  const path = (count: number) => `/game/servers/waits-${count}/commands?wait=${POLL_SECONDS}`;
  const polls = Array.from({ length: POLLS }, (_, count) => call(callers[count % KEYS] as Caller, path(count)));
  let most = { open: 0, lines: [] as object[] };
  for (let looked = 0; looked < 100 && most.open < POLLS; looked++) {
    await pause(200);
    const open = await metric('activity', 'activity_open_polls');
    if (open <= most.open) continue;
    const lines = pids.map((pid, index) => ({
      process: index === 0 ? 'gateway' : 'activity',
      polls: open,
      'KiB a poll': Math.round((memory(pid) - (before[index]?.memory ?? 0)) / open),
      'descriptors a poll': (descriptors(pid) - (before[index]?.descriptors ?? 0)) / open,
    }));
    most = { open, lines };
  }
  await Promise.all(polls);
  return most.lines;
}

const callers = await makeKeys();
console.log('At rest');
console.table(
  Object.entries(up.services).map(([name, { pid }]) => ({
    process: name,
    MiB: mebibytes(memory(pid)),
    descriptors: descriptors(pid),
  })),
);
console.log('A poll that waits');
console.table(await waitingPolls(callers));
await pause(60_000);
console.log('CPU of a request, in microseconds');
const banStatus = (caller: Caller, count: number) =>
  call(caller, `/moderation/${caller.guildId}/ban-status/${count + 1}`);
const heartbeat = (caller: Caller, count: number) =>
  call(caller, '/game/servers/heartbeat', { server_id: `s${count}`, place_id: 1, player_count: 1, max_players: 2 });
console.table({
  'ban status': await drive('moderation', callers, banStatus),
  heartbeat: await drive('activity', callers, heartbeat),
});
console.log('Under load');
console.table(Object.entries(up.services).map(([name, { pid }]) => ({ process: name, MiB: mebibytes(memory(pid)) })));
console.log('Connections that are kept');
console.table(await connections());
agent.destroy();
