import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { testKeys } from '#test/system/keys.ts';
import { inheritedEnvironment } from '#test/system/processes.ts';
import { GUILD } from '../fixtures/sample-http.ts';
import { SecretRing } from '../security/keyring.ts';
import { PRINCIPAL_HEADER, signPrincipal } from '../security/principal.ts';

const SECRET = 'the secret of these tests is long enough';
const ENVIRONMENT = { LISTEN_HOST: '127.0.0.1', INTERNAL_KEYS: testKeys({ internal: [SECRET] }, ['sample']) };
const BOAT = `/api/v1/guilds/${GUILD}/boats/1`;
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Ran {
  child: ChildProcess;
  stdout: string;
  stderr: string;
  /** The exit status, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>;
}

/** Runs the sample service as a separate process. */
function run(environment: Record<string, string>): Ran {
  const program = join(import.meta.dirname, '../fixtures/sample-service.ts');
  const child = spawn(process.execPath, [program], { env: { ...inheritedEnvironment(), ...environment } });
  children.push(child);
  const ended = once(child, 'close').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals | null);
  const ran: Ran = { child, stdout: '', stderr: '', ended };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ran.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ran.stderr += text));
  return ran;
}

function until(ran: Ran, logged: string): Promise<void> {
  return expect.poll(() => ran.stdout).toContain(logged);
}

async function untilReady(ran: Ran): Promise<Record<'admin' | 'http' | 'grpc', string>> {
  await until(ran, 'is ready');
  const line = ran.stdout.split('\n').find((text) => text.includes('is ready')) ?? '';
  return JSON.parse(line).addresses;
}

function send(http: string, method: string, path: string): Promise<Response> {
  const principal = { keyId: 'k', keyPrefix: 'test', guildId: GUILD, scopes: [], legacy: false, requestId: 'r' };
  const signedRequest = { audience: 'sample', method, target: path };
  const signed = signPrincipal(new SecretRing([SECRET]), principal, signedRequest, Date.now());
  const body = method === 'POST' ? JSON.stringify({ guild_id: GUILD, chat_id: GUILD }) : undefined;
  const headers = { [PRINCIPAL_HEADER]: signed, ...(body ? { 'content-type': 'application/json' } : {}) };
  return fetch(`http://${http}${path}`, { method, headers, body });
}

test('configuration errors end a process with status 1 and are all on standard error, without values', async () => {
  const ran = run({ INTERNAL_KEYS: 'hidden', GRPC_PORT: 'hidden', RESPONSE_MS: 'hidden' });
  expect(await ran.ended).toBe(1);
  expect(ran.stderr.split('\n')).toEqual([
    'sample cannot start: The configuration has 3 error(s):',
    '  INTERNAL_KEYS must be `purpose=KEY,…` as `guildctl secrets derive` prints it',
    '  GRPC_PORT must be a whole number',
    '  RESPONSE_MS must be a whole number',
    '',
  ]);
});

test('a port in use ends a process with status 1 and an error that names it', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const ran = run({ ...ENVIRONMENT, HTTP_PORT: String(port) });
  expect(await ran.ended).toBe(1);
  expect(ran.stderr).toBe(`sample cannot start: listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`);
  taken.close();
});

test('after SIGTERM a process is not ready, completes the requests in flight, and exits with status 0', async () => {
  const ran = run({ ...ENVIRONMENT, RESPONSE_MS: '400' });
  const { admin, http } = await untilReady(ran);
  const readiness = async () => (await fetch(`http://${admin}/readyz`)).status;
  expect(await readiness()).toBe(200);
  const request = send(http, 'GET', BOAT);
  await until(ran, 'request received');
  ran.child.kill('SIGTERM');
  await expect.poll(readiness).toBe(503);
  // Ctrl+C sends further signals in the same way, because it signals the whole process group.
  ran.child.kill('SIGTERM');
  ran.child.kill('SIGINT');
  const response = await request;
  expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
  expect(await ran.ended).toBe(0);
  expect(ran.stderr).toBe('');
});

test('a process does not start if its stop has no time for the requests in flight after the drain delay', async () => {
  const ran = run({ ...ENVIRONMENT, DRAIN_DELAY_SECONDS: '120', STOP_SECONDS: '136' });
  expect(await ran.ended).toBe(1);
  expect(ran.stderr).toContain('STOP_SECONDS must be at least DRAIN_DELAY_SECONDS + 17, which is 137');
});

test('a process reports the stop that is too short together with the faults of other variables', async () => {
  const times = { DRAIN_DELAY_SECONDS: '120', STOP_SECONDS: '136' };
  const ran = run({ ...ENVIRONMENT, ...times, TRACING_SAMPLE_RATIO: '1.5' });
  expect(await ran.ended).toBe(1);
  expect(ran.stderr).toContain('TRACING_SAMPLE_RATIO must be a decimal number from 0 to 1');
  expect(ran.stderr).toContain('STOP_SECONDS must be at least DRAIN_DELAY_SECONDS + 17, which is 137');
});

test('during the drain delay a process accepts new requests, and closes each connection after its response', async () => {
  const ran = run({ ...ENVIRONMENT, DRAIN_DELAY_SECONDS: '1' });
  const { admin, http } = await untilReady(ran);
  expect((await send(http, 'GET', BOAT)).headers.get('connection')).toBe('keep-alive');
  const signalledAt = performance.now();
  ran.child.kill('SIGTERM');
  await expect.poll(async () => (await fetch(`http://${admin}/readyz`)).status).toBe(503);
  const response = await send(http, 'GET', BOAT);
  expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
  expect(await ran.ended).toBe(0);
  expect(performance.now() - signalledAt).toBeGreaterThan(990);
});

test('a stop that takes too long ends with status 1', async () => {
  const ran = run({ ...ENVIRONMENT, RESPONSE_MS: '60000', STOP_MS: '60000', STOP_SECONDS: '17' });
  const { http } = await untilReady(ran);
  const request = send(http, 'GET', BOAT).catch((error: unknown) => error);
  await until(ran, 'request received');
  const signalledAt = performance.now();
  ran.child.kill('SIGTERM');
  expect(await ran.ended).toBe(1);
  expect(performance.now() - signalledAt).toBeGreaterThan(16_900);
  expect(await request).toBeInstanceOf(Error);
});

test('a signal during the start ends a process with status 0 and without an error', async () => {
  const ran = run({ ...ENVIRONMENT, START_MS: '500' });
  await until(ran, 'starting');
  ran.child.kill('SIGTERM');
  expect(await ran.ended).toBe(0);
  expect(ran.stderr).toBe('');
  expect(ran.stdout).not.toContain('is ready');
});

test.each([
  ['an uncaught error', 'POST', '/api/v1/boats', 'nobody catches this'],
  ['an unhandled rejection', 'DELETE', '/api/v1/boats/1', 'nobody waits for this'],
])('%s ends a process with status 1 and a log line', async (_what, method, path, message) => {
  const ran = run(ENVIRONMENT);
  const { http } = await untilReady(ran);
  await send(http, method, path).catch(() => undefined);
  expect(await ran.ended).toBe(1);
  expect(ran.stdout).toMatch(new RegExp(`"level":"fatal".*${message}`));
});
