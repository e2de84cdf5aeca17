import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { PATIENCE } from '#test/patience.ts';
import { createTestDatabase } from '#test/postgres/database.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { processesUsing, type RunningScript, runScript } from '#test/system/processes.ts';
import { DEPLOYABLES } from './processes.ts';
import type { Up } from './system.ts';

const SCRIPT = join(import.meta.dirname, 'fixtures', 'start.ts');
const WAIT = { ...PATIENCE, interval: 20 };

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-start-'));
  file = join(folder, 'up.json');
});

afterEach(async () => {
  await untilGone();
  rmSync(folder, { recursive: true });
});

function start(environment: NodeJS.ProcessEnv = {}): RunningScript {
  const own = { DATA_DIR: folder, GATEWAY_PORT: '0', DATABASE_URL: '', REDIS_URL: '', ...environment };
  const script = runScript([process.execPath, SCRIPT], own);
  // The system must not remain after a test that failed.
  onTestFinished(() => {
    script.process.kill('SIGKILL');
  });
  return script;
}

function readUp(): Up {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(readFileSync(file, 'utf8')) as Up;
}

/** Redis requires the password, which no command line shows. */
async function onlyWithPassword(url: string): Promise<void> {
  const { password, port } = new URL(url);
  expect(password).toBe(readFileSync(join(folder, 'secrets', 'redis'), 'utf8').trim());
  expect(processesUsing(folder).join('\n')).not.toContain(password);
  const read = async (given: string) => {
    const redis = new Redis(`redis://${given}127.0.0.1:${port}`, { lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => undefined);
    try {
      return await redis.ping();
    } catch (error) {
      return String(error);
    } finally {
      redis.disconnect();
    }
  };
  expect(await read('')).toContain('NOAUTH');
  expect(await read(`:${password}@`)).toBe('PONG');
}

/** The root secrets that are in the environment of any of these processes. */
function rootsIn(pids: readonly number[]): string[] {
  const environments = pids.map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8')).join('\n');
  expect(environments.match(/INTERNAL_KEYS=/g)).toHaveLength(DEPLOYABLES.length);
  return ['internal', 'admin'].filter((name) =>
    environments.includes(readFileSync(join(folder, 'secrets', name), 'utf8').trim()),
  );
}

const untilGone = (): Promise<void> =>
  vi.waitFor(() => {
    const left = processesUsing(folder);
    if (left.length > 0) throw new Error(`still there: ${left.join('\n')}`);
  }, WAIT);

const untilUp = (script: RunningScript): Promise<Up> =>
  vi.waitFor(() => {
    if (script.process.exitCode !== null) throw new Error(script.output());
    return readUp();
  }, WAIT);

test('up.json exists from when all is ready until the end, is private, and the exit status is 0', async () => {
  writeFileSync(file, '{"pid": 1}');
  const script = start({ READY_AFTER: '300' });
  await expect.poll(() => script.output(), WAIT).toContain('PostgreSQL is ready');
  expect(() => readUp()).toThrow('ENOENT');
  const up = await untilUp(script);
  const answers = await Promise.all(Object.values(up.services).map(({ admin }) => fetch(`${admin}/readyz`)));
  expect(answers.map(({ status }) => status)).toEqual(DEPLOYABLES.map(() => 200));
  expect(Object.keys(up.services).toSorted()).toEqual(DEPLOYABLES.map(({ name }) => name).toSorted());
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(up).toMatchObject({
    pid: script.process.pid,
    gateway: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    services: {
      gateway: { pid: expect.any(Number), admin: expect.stringMatching(/^http:/) },
      auth: { http: expect.stringMatching(/^http:/), grpc: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
      lookup: { http: expect.stringMatching(/^http:/), grpc: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
    },
    simulators: {
      chat: expect.stringMatching(/^http:/),
      game: expect.stringMatching(/^http:/),
      receiver: expect.stringMatching(/^http:/),
    },
    redis: expect.stringMatching(/^redis:/),
    demo: { guild_id: '900000000000000001', key: expect.stringMatching(/^service_/) },
  });
  for (const name of ['internal', 'admin', 'redis']) {
    expect(statSync(join(folder, 'secrets', name)).mode & 0o777).toBe(0o600);
  }
  await onlyWithPassword(up.redis ?? '');
  expect(rootsIn(Object.values(up.services).map(({ pid }) => pid))).toEqual([]);
  script.process.kill('SIGTERM');
  expect(await script.ended).toBe(0);
  expect(() => readUp()).toThrow('ENOENT');
  expect(processesUsing(folder)).toEqual([]);
});

test('a process that is killed is restarted within two seconds at the same addresses', async () => {
  const script = start();
  const before = await untilUp(script);
  for (const name of ['lookup', 'gateway']) {
    const killed = Date.now();
    const { pid = 0, ...addresses } = readUp().services[name] ?? { admin: '' };
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => readUp().services[name]?.pid, WAIT).not.toBe(pid);
    expect(Date.now() - killed).toBeLessThan(2000);
    expect(readUp().services[name]).toMatchObject(addresses);
    expect((await fetch(`${addresses.admin}/readyz`)).status).toBe(200);
    expect(script.output()).toContain(`${name} ended (signal SIGKILL), starting it again`);
  }
  const postmaster = processesUsing('postgres').find((line) => line.includes(`${folder}/postgres/data -c`));
  process.kill(Number.parseInt(postmaster ?? '', 10), 'SIGKILL');
  await expect.poll(() => script.output(), WAIT).toContain('PostgreSQL is ready again');
  const client = new Client({ connectionString: before.database });
  await client.connect();
  await client.end();
  script.process.kill('SIGINT');
  expect(await script.ended).toBe(0);
});

test('configured servers are used instead of own ones, and their passwords are not printed', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const redis = await testRedisUrl();
  const script = start({ DATABASE_URL: database.url, REDIS_URL: redis });
  const up = await untilUp(script);
  expect(up).toMatchObject({ database: database.url, redis });
  expect(processesUsing(folder).filter((line) => /postgres|redis/.test(line))).toEqual([]);
  await expect.poll(() => script.output(), WAIT).toContain('Database');
  expect(script.output()).not.toContain(new URL(database.url).password);
  script.process.kill('SIGTERM');
  expect(await script.ended).toBe(0);
});

test('without a Redis server limits and caches are in memory, which one line says', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const script = start({ DATABASE_URL: database.url, PATH: '' });
  expect(await untilUp(script)).toMatchObject({ redis: null });
  expect(script.output()).toContain('No redis-server or valkey-server found');
  script.process.kill('SIGTERM');
  expect(await script.ended).toBe(0);
});

test('a second start in the same folder is rejected and does not affect the running system', async () => {
  const script = start();
  const up = await untilUp(script);
  const second = start();
  expect(await second.ended).toBe(1);
  expect(second.output()).toContain(`running already in ${folder} (process ${up.pid}, ${up.gateway})`);
  expect((await fetch(up.gateway)).status).toBe(200);
  expect(readUp()).toEqual(up);
  script.process.kill('SIGINT');
  expect(await script.ended).toBe(0);
});

test('no process remains after kill -9 of the supervisor, and the next start finds the data', async () => {
  const script = start();
  const up = await untilUp(script);
  const client = new Client({ connectionString: up.database });
  client.on('error', () => {});
  await client.connect();
  await client.query('CREATE TABLE kept (id int)');
  await client.end();
  script.process.kill('SIGKILL');
  // Started immediately, while the processes of the killed system are still ending.
  const again = start();
  await expect.poll(() => again.output(), WAIT).toContain('Guild Data is ready');
  const other = new Client({ connectionString: readUp().database });
  await other.connect();
  expect((await other.query('SELECT count(*)::int FROM kept')).rows).toEqual([{ count: 0 }]);
  await other.end();
  again.process.kill('SIGKILL');
  await untilGone();
});

test('it starts again after a kill -9 of everything', async () => {
  const script = start();
  await untilUp(script);
  const processes = [script.process.pid ?? 0, ...processesUsing(folder).map((line) => Number.parseInt(line, 10))];
  for (const pid of processes) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended with another one.
    }
  }
  await script.ended;
  const again = start();
  await expect.poll(() => again.output(), WAIT).toContain('Guild Data is ready');
  again.process.kill('SIGTERM');
  expect(await again.ended).toBe(0);
});

test('a signal during the start stops it with status 0 and leaves no process', async () => {
  const script = start({ READY_AFTER: '60000' });
  await expect.poll(() => script.output(), WAIT).toContain('PostgreSQL is ready');
  script.process.kill('SIGINT');
  script.process.kill('SIGINT');
  expect(await script.ended).toBe(0);
  expect(processesUsing(folder)).toEqual([]);
});

test('errors for a taken gateway port and wrong settings say what to change', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const script = start({ GATEWAY_PORT: String(port) });
  expect(await script.ended).toBe(1);
  expect(script.output().trim()).toBe(
    `Guild Data could not be started: Port ${port} is taken: set GATEWAY_PORT to another one, or to 0 for any free port`,
  );
  const wrong = start({ GATEWAY_PORT: 'http', REDIS_URL: 'localhost' });
  expect(await wrong.ended).toBe(1);
  expect(wrong.output()).toMatch(/GATEWAY_PORT must be a whole number\n\s+REDIS_URL must be redis:/);
});

test('if a process does not start, the error has the last lines of its log', async () => {
  const script = start({ FAIL: 'SIMULATOR_WORLD is wrong' });
  expect(await script.ended).toBe(1);
  expect(script.output()).toContain('simulators: it ended with exit status 1, see ');
  expect(script.output()).toContain('SIMULATOR_WORLD is wrong');
  expect(processesUsing(folder)).toEqual([]);
});
