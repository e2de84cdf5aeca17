import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { testKeys } from '#test/system/keys.ts';
import { ManualClock } from '../clock.ts';
import { SampleService, sampleRoutes } from '../fixtures/sample.ts';
import type { GrpcClient } from '../grpc/client.ts';
import { internalKeysOf } from '../security/process-keys.ts';
import { databaseConfig, grpcConfig, httpConfig, processConfig, readConfig } from './config.ts';
import { type RunningService, type ServiceDefinition, startService } from './service.ts';
import type { ServiceContext } from './service-context.ts';

const ENVIRONMENT = { LISTEN_HOST: '127.0.0.1', INTERNAL_KEYS: testKeys({}, ['sample', 'other']) };
const log = pino({ level: 'silent' });
const started: RunningService[] = [];

afterEach(async () => {
  for (const service of started.splice(0).toReversed()) await service.stop();
});

type Build = (service: ServiceContext<ReturnType<typeof readSampleConfig>>) => void;

const readSampleConfig = (environment: Record<string, string | undefined>) =>
  readConfig({ ...processConfig, ...grpcConfig, ...httpConfig, PG_POOL_MAX: databaseConfig.PG_POOL_MAX }, environment);

async function start(name: string, build: Build, clock = new ManualClock()): Promise<RunningService> {
  const definition: ServiceDefinition<ReturnType<typeof readSampleConfig>> = {
    name,
    readConfig: readSampleConfig,
    build,
  };
  const service = await startService(definition, ENVIRONMENT, { clock, log });
  started.push(service);
  return service;
}

const handle = async () => ({ data: { seen: 1, removed: true } });

test('services in one process each have their own ports, clock and metrics, and call each other', async () => {
  const sample = await start('sample', (service) => {
    const server = service.serveGrpc(service.config);
    service.serveInternal(server, SampleService, { say: async ({ text }) => ({ text }), count: async () => undefined });
  });
  let client: GrpcClient<typeof SampleService> | undefined;
  const other = await start('other', (service) => {
    client = service.client(SampleService, 'sample', sample.addresses.grpc ?? '', { deadlineMs: 500 });
    service.serveHttp(service.config, sampleRoutes, { getBoat: handle, addBoat: handle, removeBoat: handle });
  });
  expect(await client?.say({ text: 'hello' })).toEqual({ text: 'hello' });
  expect(Object.keys(sample.addresses).filter((name) => sample.addresses[name as 'admin'])).toEqual(['admin', 'grpc']);
  expect(
    new Set([sample.addresses.admin, sample.addresses.grpc, other.addresses.admin, other.addresses.http]).size,
  ).toBe(4);
  expect((await fetch(`http://${other.addresses.http}/api/v1/boats/1`)).status).toBe(401);
  const metrics = await (await fetch(`http://${other.addresses.admin}/metrics`)).text();
  expect(metrics).toContain('grpc_client_handled_total{method="/guild.sample.v1.SampleService/Say",code="OK"} 1');
  expect(metrics).toContain('http_requests_total{route="none",method="GET",code="401"} 1');
  expect(metrics).toContain('breaker_open{dependency="sample"} 0');
  expect(metrics).not.toContain('grpc_server_handled_total{');
});

test('the largest headers that the gateway accepts are accepted together with the headers that it adds', async () => {
  const { addresses } = await start('sample', (service) => {
    service.serveHttp(service.config, sampleRoutes, { getBoat: handle, addBoat: handle, removeBoat: handle });
  });
  const headers = { 'x-long': 'x'.repeat(16 * 1024), 'x-more': 'x'.repeat(4 * 1024) };
  expect((await fetch(`http://${addresses.http}/api/v1/boats/1`, { headers })).status).toBe(401);
});

test('if a part cannot start, the others are stopped and its error is thrown', async () => {
  let stopped = false;
  const starting = start('sample', (service) => {
    service.lifecycle.add({ name: 'first', stop: async () => void (stopped = true) });
    service.lifecycle.add({ name: 'second', start: () => Promise.reject(new Error('no luck')) });
  });
  await expect(starting).rejects.toThrow('no luck');
  expect(stopped).toBe(true);
});

test('configuration errors are thrown before anything is built', async () => {
  const definition = { name: 'sample', readConfig: readSampleConfig, build: () => expect.unreachable() };
  await expect(startService(definition, {}, { log })).rejects.toThrow('INTERNAL_KEYS is required');
});

test('a process does not start with a root secret, or without one of its keys', async () => {
  const definition = { name: 'lookup', readConfig: readSampleConfig, build: () => expect.unreachable() };
  const roots = { internal: ['the internal root secret of tests'], admin: ["the operators' root secret of tests"] };
  const keys = internalKeysOf('lookup', roots);
  for (const name of ['INTERNAL_SECRETS', 'ADMIN_SECRETS']) {
    const given = startService(definition, { INTERNAL_KEYS: keys, [name]: 'x'.repeat(40) }, { log });
    await expect(given).rejects.toThrow(`${name} must not be given to a process that serves requests`);
  }
  const some = keys.split(',').filter((entry) => !/^(?:principal:lookup|ticket:lookup)=/.test(entry));
  const faults = 'INTERNAL_KEYS has no key for principal:lookup\n  INTERNAL_KEYS has no key for ticket:lookup';
  await expect(startService(definition, { INTERNAL_KEYS: some.join(',') }, { log })).rejects.toThrow(faults);
});

test('a process logs which keys it should not have', async () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const roots = { internal: ['the internal root secret of tests'], admin: ["the operators' root secret of tests"] };
  const own = internalKeysOf('lookup', roots).split(',');
  const others = internalKeysOf('bindings', roots).split(',');
  const INTERNAL_KEYS = [...new Set([...own, ...others])].join();
  const definition = { name: 'lookup', readConfig: readSampleConfig, build: () => undefined };
  const environment = { LISTEN_HOST: '127.0.0.1', INTERNAL_KEYS };
  started.push(await startService(definition, environment, { log: pino({ level: 'warn' }, destination) }));
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({
      msg: 'INTERNAL_KEYS contains keys that this process must not have',
      purposes: [
        'principal:bindings',
        'call:bindings:events',
        'call:auth:bindings',
        'call:members:bindings',
        'idempotency',
        'call:operators:bindings',
        'ticket:bindings',
      ],
    }),
  ]);
});

test('the admin port is only reachable from this machine, unless ADMIN_HOST is set', async () => {
  const definition: ServiceDefinition<ReturnType<typeof readSampleConfig>> = {
    name: 'sample',
    readConfig: readSampleConfig,
    build: (service) => void service.serveGrpc(service.config),
  };
  const hosts = async (environment: Record<string, string>) => {
    const service = await startService(definition, { ...ENVIRONMENT, ...environment }, { log });
    started.push(service);
    return [service.addresses.admin, service.addresses.grpc].map((address) => address?.split(':')[0]);
  };
  expect(await hosts({ LISTEN_HOST: '127.0.0.2' })).toEqual(['127.0.0.1', '127.0.0.2']);
  expect(await hosts({ ADMIN_HOST: '127.0.0.3' })).toEqual(['127.0.0.3', '127.0.0.1']);
});
