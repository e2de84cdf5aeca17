import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { AdminServer } from '#kit/service/admin-server.ts';
import type { Environment } from '#kit/service/config.ts';
import { Readiness } from '#kit/service/readiness.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { DEPLOYABLES } from '#local/processes.ts';
import { runGuildctl } from '#services/cli/fixtures/guildctl.ts';
import { READERS } from '#test/system/process-configs.ts';
import { allMigrations } from '../../deploy/all-migrations.ts';
import { programFile } from '../../deploy/bundle/programs.ts';
import { rolesOf } from '../../deploy/database-roles.ts';
import { COMPOSE_FILE, type ComposeService, MissingVariable, readProject, requiredVariables } from './project.ts';

const run = promisify(execFile);

/** The variables in `.env`, written by the commands at the head of the file. */
const env: Record<string, string> = { ...(await derivedKeys()), ...passwords() };
const simulated = readProject(env).services;
const real = readProject({ ...env, PLATFORMS: 'real', CHAT_BOT_TOKEN: 'token' }).services;

/** The keys of all processes, as `secrets derive --format compose` prints them. */
async function derivedKeys(): Promise<Record<string, string>> {
  const generated = variablesIn((await runGuildctl(['secrets', 'generate'], {})).out);
  return variablesIn((await runGuildctl(['secrets', 'derive', '--format', 'compose'], generated)).out);
}

/** The passwords that the commands at the head of the file generate. */
function passwords(): Record<string, string> {
  const commands = readFileSync(COMPOSE_FILE, 'utf8').matchAll(/^# {3}((?:echo|for name in) .*) >>\.env$/gm);
  const script = [...commands].map(([, command]) => command).join('\n');
  return variablesIn(execFileSync('sh', ['-c', script], { encoding: 'utf8' }));
}

function variablesIn(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

const given = (name: string, services = simulated): Record<string, string> => services[name]?.environment ?? {};
const withDatabase = DEPLOYABLES.filter(({ holds }) => holds.includes('database')).map(({ name }) => name);

test('the commands at the head of the file write every variable that it requires', () => {
  expect(Object.keys(env)).toEqual(expect.arrayContaining(requiredVariables('simulated')));
  expect(() => readProject({})).toThrow(MissingVariable);
});

/** The variables that a process reads. */
function variablesOf(name: string): string[] {
  const read = new Set<string>();
  const noted = new Proxy<Environment>({}, { get: (_, variable) => void read.add(String(variable)) });
  expect(() => READERS[name]?.(noted)).toThrow('error(s)');
  return [...read];
}

/** Variables of `.env` without which each process has its default. */
const OPTIONAL = [
  'ACCESS_LOG_SAMPLE_RATIO',
  'OTEL_BSP_SCHEDULE_DELAY',
  'OTEL_EXPORTER_OTLP_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_RESOURCE_ATTRIBUTES',
  'PLATFORMS_CA_FILE',
  'PLATFORMS_PROXY',
  'TRACING_CALLER_SAMPLES_PER_SECOND',
  'TRACING_SAMPLE_RATIO',
];

/** The secrets and server addresses that a process gets. */
const HELD = {
  database: 'DATABASE_URL',
  redis: 'REDIS_URL',
  platforms: 'CHAT_BOT_TOKEN',
  webhooks: 'WEBHOOKS_ALLOW_HTTP',
  console: 'CONSOLE_URL',
  'sign-in': 'OIDC_ISSUER',
} as const;

describe.each(DEPLOYABLES)('$name', ({ name, calls, forwards, holds }) => {
  test('gets each optional variable of .env that it reads, which is empty by default', () => {
    const set = readProject({
      ...env,
      PLATFORMS: 'real',
      CHAT_BOT_TOKEN: 'token',
      ...Object.fromEntries(OPTIONAL.map((variable) => [variable, `value of ${variable}`])),
    }).services;
    const read = variablesOf(name).filter((variable) => OPTIONAL.includes(variable));
    expect(read).toContain('OTEL_EXPORTER_OTLP_ENDPOINT');
    for (const variable of read) {
      expect([variable, given(name, real)[variable]]).toEqual([variable, '']);
      expect(given(name, set)[variable]).toBe(`value of ${variable}`);
    }
  });

  test('starts with exactly the addresses and secrets that it needs', () => {
    const names = Object.keys(given(name));
    const needed = calls.map((peer) => `${peer.toUpperCase()}_GRPC_ADDRESS`);
    needed.push(
      ...forwards.map((peer) => `${peer.toUpperCase()}_HTTP_URL`),
      'INTERNAL_KEYS',
      'ADMIN_PORT',
      'ADMIN_HOST',
    );
    expect(simulated[name]?.command).toEqual([programFile(name)]);
    expect(names).toEqual(expect.arrayContaining(needed));
    expect(Object.entries(HELD).flatMap(([held, variable]) => (names.includes(variable) ? [held] : []))).toEqual(
      Object.keys(HELD).filter((held) => (holds as readonly string[]).includes(held)),
    );
    // The key of the game platform is part of both.
    expect(names.includes('GAME_API_KEY')).toBe(holds.some((held) => held === 'platforms' || held === 'game'));
    expect(given(name)['INTERNAL_KEYS']).toBe(env[`${name.toUpperCase()}_INTERNAL_KEYS`]);
    expect(names.filter((variable) => !variablesOf(name).includes(variable))).toEqual([]);
  });

  test.each([
    ['simulated', simulated],
    ['real', real],
  ])('accepts its environment with %s platforms', (_, services) => {
    expect(READERS[name]?.(given(name, services))).toBeDefined();
  });
});

test('each service signs in to the database with a role of its own, which the migrations prepare', () => {
  const roles = rolesOf(
    allMigrations().map(({ service }) => service),
    given('migrate'),
    given('migrate')['DATABASE_URL'] ?? '',
  );
  const used = withDatabase.map((service) => {
    const { username, password } = new URL(given(service)['DATABASE_URL'] ?? '');
    return { service, user: username, password };
  });
  expect(roles).toHaveLength(withDatabase.length);
  expect(used).toEqual(expect.arrayContaining(roles));
  expect(new Set(used.map(({ user }) => user)).size).toBe(used.length);
  expect(new Set([...used.map(({ password }) => password), env['POSTGRES_PASSWORD']]).size).toBe(used.length + 1);
});

test('no process has a root secret, the password of the owner, or that of another role', () => {
  for (const { name } of DEPLOYABLES) {
    const texts = Object.values(given(name)).join(' ');
    const foreign = Object.keys(env).filter(
      (variable) => variable.endsWith('_PASSWORD') && variable !== `${name.toUpperCase()}_DATABASE_PASSWORD`,
    );
    expect(foreign.filter((variable) => texts.includes(env[variable] ?? ''))).toEqual([]);
    expect(Object.keys(given(name)).filter((variable) => variable.endsWith('_SECRETS'))).toEqual([]);
  }
});

test('ports are published on 127.0.0.1, those of the gateway and the console on PUBLISH_ADDRESS if it is set', () => {
  const published = (services: Record<string, ComposeService>) =>
    Object.values(services).flatMap(({ ports = [] }) => ports);
  expect(published(simulated)).toEqual([
    '127.0.0.1:8080:8080',
    '127.0.0.1:8090:8090',
    '127.0.0.1:8082:8082',
    '127.0.0.1:8085:8085',
  ]);
  expect(published(readProject({ ...env, PUBLISH_ADDRESS: '192.0.2.7' }).services)).toEqual([
    '192.0.2.7:8080:8080',
    '192.0.2.7:8090:8090',
    '127.0.0.1:8082:8082',
    '127.0.0.1:8085:8085',
  ]);
});

test('a second copy can publish every port as another one, and browsers are sent to these ports', () => {
  const ports = { GATEWAY_PORT: '1', CONSOLE_PORT: '2', CHAT_SIMULATOR_PORT: '3', OIDC_SIMULATOR_PORT: '4' };
  const { services } = readProject({ ...env, ...ports });
  expect(Object.values(services).flatMap((service) => service.ports ?? [])).toEqual([
    '127.0.0.1:1:8080',
    '127.0.0.1:2:8090',
    '127.0.0.1:3:8082',
    '127.0.0.1:4:8085',
  ]);
  expect(services['auth']?.environment).toMatchObject({
    CHAT_OAUTH_AUTHORIZE_URL: 'http://127.0.0.1:3/oauth2/authorize',
  });
  expect(services['simulators']?.environment).toMatchObject({ OIDC_SIMULATOR_BROWSER_URL: 'http://127.0.0.1:4' });
});

test('one service builds the image, and all services that are started with it wait for that service', () => {
  const ours = Object.keys(simulated).filter((name) => simulated[name]?.image === 'guild-data');
  const waitsFor = (name: string): string[] =>
    Object.keys(simulated[name]?.depends_on ?? {}).flatMap((other) => [other, ...waitsFor(other)]);
  expect(ours.toSorted()).toEqual(
    [...DEPLOYABLES.map(({ name }) => name), 'migrate', 'guildctl', 'simulators'].toSorted(),
  );
  expect(ours.filter((name) => simulated[name]?.build)).toEqual(['migrate']);
  const started = ours.filter((name) => name !== 'migrate' && !simulated[name]?.profiles);
  expect(started.filter((name) => !waitsFor(name).includes('migrate'))).toEqual([]);
});

test.each(Object.keys(simulated))('%s has limits and rotates its log', (name) => {
  const { mem_limit, pids_limit, logging } = simulated[name] as ComposeService;
  expect(mem_limit).toMatch(/^\d+[mg]$/);
  expect(pids_limit).toBeGreaterThan(0);
  expect(logging).toEqual({ driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } });
});

test('PLATFORMS=real uses no simulator, does not start them, and requires a bot token', () => {
  const { simulators, ...others } = real;
  expect(JSON.stringify(others)).not.toMatch(/simulat|127\.0\.0\.1:808[25]/i);
  expect(simulators?.profiles).toEqual(['simulators']);
  expect(simulated['simulators']?.profiles).toBeUndefined();
  expect(() => readProject({ ...env, PLATFORMS: 'real' })).toThrow(
    'CHAT_BOT_TOKEN: put the token of your bot into .env',
  );
});

describe('the health check', () => {
  const [kind, ...command] = simulated['lookup']?.healthcheck?.test ?? [];
  const [program = '', ...parameters] = command;

  /** Runs the check against a port instead of the one in the container. */
  const check = (port: number) =>
    run(program, [...parameters.slice(0, -2), String(port), parameters.at(-1) ?? ''], { timeout: 2_000 }).then(
      () => 'healthy',
      (error: { killed?: boolean }) => (error.killed ? 'no response' : 'unhealthy'),
    );

  test('starts no Node process, but bash, which the base of the image has', () => {
    const base = /^ARG BASE_IMAGE=(.*)$/m.exec(readFileSync(pathOf('deploy/docker/Dockerfile'), 'utf8'))?.[1];
    expect(base).toMatch(/^debian:/);
    expect(program).toBe('bash');
    const checks = Object.values(simulated).flatMap(({ healthcheck }) => healthcheck?.test ?? []);
    expect(kind).toBe('CMD');
    expect(parameters.slice(-2)).toEqual(['9090', '/readyz']);
    expect(checks.filter((part) => /\bnode\b/.test(part))).toEqual([]);
  });

  test('succeeds while a process is ready, and fails while it is not ready or not running', async () => {
    const readiness = new Readiness();
    const options = { host: '127.0.0.1', port: 0, readiness, metrics: new Metrics(), admits: () => false };
    const admin = new AdminServer(options);
    await admin.start();
    const port = Number(admin.address.split(':')[1]);
    expect(await check(port)).toBe('unhealthy');
    readiness.set(true);
    expect(await check(port)).toBe('healthy');
    await admin.stop();
    expect(await check(port)).toBe('unhealthy');
  });

  test('does not succeed while a process accepts connections and does not respond', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    expect(await check((server.address() as AddressInfo).port)).toBe('no response');
    server.close();
  });
});
