import { expect, test } from 'vitest';
import { z } from 'zod';
import { ProcessKeys } from '../security/keyring.ts';
import {
  baseUrl,
  ConfigError,
  canPrepare,
  databaseConfig,
  type Environment,
  flag,
  grpcAddress,
  grpcConfig,
  httpConfig,
  list,
  number,
  origin,
  processConfig,
  readConfig,
  url,
} from './config.ts';
import { readRoots, secrets } from './root-secrets.ts';

const SECRET = 'x'.repeat(32);
const KEYS = `call:a:b=${Buffer.alloc(32).toString('base64url')}`;

function faultsOf(shape: z.ZodRawShape, environment: Environment): string[] {
  try {
    readConfig(shape, environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
  return [];
}

test('a variable with a default may be left out or empty', () => {
  const shape = { ...processConfig, ...databaseConfig, ...grpcConfig, ...httpConfig };
  const environment = { INTERNAL_KEYS: KEYS, DATABASE_URL: 'postgres://localhost/guild', PG_POOL_MAX: '' };
  expect(readConfig(shape, environment)).toEqual({
    LISTEN_HOST: '0.0.0.0',
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: 0,
    LOG_LEVEL: 'info',
    STOP_SECONDS: 25,
    DRAIN_DELAY_SECONDS: 0,
    INTERNAL_KEYS: expect.any(ProcessKeys),
    DATABASE_URL: 'postgres://localhost/guild',
    DATABASE_DIRECT_URL: undefined,
    PG_PREPARE: undefined,
    PG_POOL_MAX: 5,
    GRPC_PORT: 0,
    GRPC_REFLECTION: true,
    HTTP_PORT: 0,
    OTEL_EXPORTER_OTLP_HEADERS: {},
    OTEL_RESOURCE_ATTRIBUTES: {},
    TRACING_SAMPLE_RATIO: 0.01,
    TRACING_CALLER_SAMPLES_PER_SECOND: 1,
    OTEL_BSP_SCHEDULE_DELAY: 5_000,
  });
});

test('pairs are percent-decoded, and a ratio is a number from 0 to 1', () => {
  const read = (variables: Environment) => readConfig(processConfig, { INTERNAL_KEYS: KEYS, ...variables });
  const { OTEL_EXPORTER_OTLP_HEADERS } = read({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a%2Cb, x-scope=1=2,',
  });
  expect(OTEL_EXPORTER_OTLP_HEADERS).toEqual({ authorization: 'Bearer a,b', 'x-scope': '1=2' });
  for (const wrong of ['authorization', '=value', 'a=%', 'a=%ff', 'a b=c', 'a=b%0d%0Ac']) {
    const given = { INTERNAL_KEYS: KEYS, OTEL_EXPORTER_OTLP_HEADERS: wrong };
    expect(faultsOf(processConfig, given)).toEqual([
      'OTEL_EXPORTER_OTLP_HEADERS must hold name=value pairs separated by commas, without control characters',
    ]);
  }
  const ratios = ['0', '1', '0.01', '.5', '1.0'].map(
    (text) => read({ TRACING_SAMPLE_RATIO: text }).TRACING_SAMPLE_RATIO,
  );
  expect(ratios).toEqual([0, 1, 0.01, 0.5, 1]);
  for (const wrong of ['1.1', '-1', '1e-2', 'all', '50%', '2']) {
    const given = { INTERNAL_KEYS: KEYS, TRACING_SAMPLE_RATIO: wrong };
    expect(faultsOf(processConfig, given)).toEqual([
      'TRACING_SAMPLE_RATIO must be a decimal number from 0 to 1, such as 0.01',
    ]);
  }
});

test('all errors are reported together, by the names of the variables and without values', () => {
  const shape = {
    ...processConfig,
    ...databaseConfig,
    ...grpcConfig,
    AUTH_ADDRESS: grpcAddress(),
    PROXIES: list(z.string().regex(/^10\./, { error: 'must begin with 10.' })),
    CHAT_URL: url('http', 'https'),
    LIMIT: number(1, 1, 5),
    HUGE: number(1),
    LARGE: number(1),
    WHOLE: number(1),
  };
  const environment = {
    ADMIN_PORT: '70000',
    LOG_LEVEL: 'hidden-level',
    STOP_SECONDS: '0',
    DRAIN_DELAY_SECONDS: '121',
    INTERNAL_KEYS: 'hidden-a',
    INTERNAL_SECRETS: 'hidden-b',
    ADMIN_SECRETS: 'hidden-c',
    DATABASE_URL: 'mysql://user:hidden@host/db',
    PG_POOL_MAX: '-3',
    GRPC_REFLECTION: 'hidden-maybe',
    AUTH_ADDRESS: 'hidden address',
    PROXIES: '10.0.0.1, hidden-proxy, 192.0.2.1',
    LIMIT: '6',
    HUGE: '9'.repeat(400),
    LARGE: '9100000000000000',
    WHOLE: '1.5',
  };
  const faults = faultsOf(shape, environment);
  expect(faults).toEqual([
    'ADMIN_PORT must be at most 65535',
    'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent',
    'STOP_SECONDS must be at least 1',
    'DRAIN_DELAY_SECONDS must be at most 120',
    'INTERNAL_KEYS must be `purpose=KEY,…` as `guildctl secrets derive` prints it',
    'INTERNAL_SECRETS must not be given to a process that serves requests: derive INTERNAL_KEYS from it',
    'ADMIN_SECRETS must not be given to a process that serves requests: derive INTERNAL_KEYS from it',
    'DATABASE_URL must be a URL that begins with postgres:// or postgresql://',
    'PG_POOL_MAX must be a whole number',
    'GRPC_REFLECTION must be true or false',
    'AUTH_ADDRESS must be host:port or dns:///host:port',
    'PROXIES.1 must begin with 10.',
    'PROXIES.2 must begin with 10.',
    'CHAT_URL is required',
    'LIMIT must be at most 5',
    'HUGE must be a whole number',
    'LARGE must be at most 9007199254740991',
    'WHOLE must be a whole number',
  ]);
  expect(faults.join('\n')).not.toMatch(/hidden|192\.0\.2\.1|999/);
});

test('statements may be prepared unless a pooler is configured, or as PG_PREPARE says', () => {
  const read = (environment: Environment) =>
    canPrepare(readConfig(databaseConfig, { DATABASE_URL: 'postgres://pooler/guild', ...environment }));
  const pooled = { DATABASE_DIRECT_URL: 'postgres://postgres/guild' };
  expect([read({}), read({ PG_PREPARE: 'false' })]).toEqual([true, false]);
  expect([read(pooled), read({ ...pooled, PG_PREPARE: 'true' })]).toEqual([false, true]);
});

test('root secrets of both kinds must differ: a shared one would make every service an operator', () => {
  const [INTERNAL_SECRETS, ADMIN_SECRETS] = ['i'.repeat(32), 'a'.repeat(32)];
  expect(readRoots({ INTERNAL_SECRETS, ADMIN_SECRETS })).toEqual({
    internal: [INTERNAL_SECRETS],
    admin: [ADMIN_SECRETS],
  });
  const shared = { INTERNAL_SECRETS, ADMIN_SECRETS: `${ADMIN_SECRETS},${INTERNAL_SECRETS}` };
  expect(() => readRoots(shared)).toThrow('must not hold a secret of INTERNAL_SECRETS');
  expect(() => readRoots({ INTERNAL_SECRETS })).toThrow('ADMIN_SECRETS is required');
});

test('root secrets are rejected if one is missing or shorter than 32 bytes', () => {
  expect(faultsOf({ S: secrets() }, {})).toEqual(['S is required']);
  expect(faultsOf({ S: secrets() }, { S: `${SECRET},` })).toHaveLength(1);
  expect(faultsOf({ S: secrets() }, { S: `${SECRET},${'é'.repeat(15)}` })).toHaveLength(1);
  expect(readConfig({ S: secrets() }, { S: `${SECRET}, ${'é'.repeat(16)}` }).S).toEqual([SECRET, 'é'.repeat(16)]);
});

test.each([
  ['http://host/base', ['must be a URL without path, query, fragment and credentials, such as http://host:8080']],
  ['http://host/?a', ['must be a URL without path, query, fragment and credentials, such as http://host:8080']],
  ['http://host#a', ['must be a URL without path, query, fragment and credentials, such as http://host:8080']],
  [
    'http://user:secret@host',
    ['must be a URL without path, query, fragment and credentials, such as http://host:8080'],
  ],
  ['ftp://host/base', ['must be a URL that begins with http:// or https://']],
  ['http://', ['must be a URL that begins with http:// or https://']],
])('%s is not a valid URL of one of our services', (value, faults) => {
  expect(faultsOf({ A: origin('http', 'https') }, { A: value })).toEqual(faults.map((fault) => `A ${fault}`));
});

test('the URL of a service may have a port, and a base URL may have a path', () => {
  for (const value of ['http://host', 'https://host:65535', 'http://[::1]:80', 'http://10.0.0.1:8080']) {
    expect(readConfig({ A: origin('http', 'https') }, { A: `${value}/` })).toEqual({ A: value });
  }
  expect(readConfig({ A: baseUrl('https') }, { A: 'https://host/api/v10/' })).toEqual({ A: 'https://host/api/v10' });
  for (const value of ['https://host/api?a', 'https://host/#a', 'https://user@host']) {
    expect(faultsOf({ A: baseUrl('https') }, { A: value })).toEqual([
      'A must be a URL without query, fragment and credentials',
    ]);
  }
});

// The chart has only the patterns: a value that it accepts must not stop the process.
test.each([
  ['http://host:65535/path', true],
  ['http://[fd00::1]:9', true],
  ['http://host:65536', false],
  ['http://host:70000/path', false],
  ['http://host:100000', false],
  ['http://host:a', false],
])('the patterns of a base URL decide about the port of %s', (value, isAccepted) => {
  const { allOf } = z.toJSONSchema(baseUrl('http'), { io: 'input' });
  const patterns = allOf?.map(({ pattern }) => new RegExp(String(pattern))) ?? [];
  expect(patterns).toHaveLength(2);
  expect(patterns.every((pattern) => pattern.test(value))).toBe(isAccepted);
  expect(faultsOf({ A: baseUrl('http') }, { A: value })).toHaveLength(isAccepted ? 0 : 1);
});

test('values are converted to their types', () => {
  const shape = { A: flag(false), B: list(z.string()), C: url('https'), D: grpcAddress(), E: grpcAddress() };
  const environment = {
    A: 'true',
    B: ' a, ,b,',
    C: 'https://example.org/base//',
    D: 'auth:50051',
    E: 'dns:///auth:50051',
  };
  expect(readConfig(shape, environment)).toEqual({
    A: true,
    B: ['a', 'b'],
    C: 'https://example.org/base',
    D: 'auth:50051',
    E: 'dns:///auth:50051',
  });
});
