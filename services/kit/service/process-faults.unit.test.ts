import { pino } from 'pino';
import { expect, test } from 'vitest';
import { internalKeysOf } from '../security/process-keys.ts';
import { type Environment, processConfig, readConfig } from './config.ts';
import { type CaVariable, faultsOfProcess } from './process-faults.ts';
import { startService } from './service.ts';

const ROOTS = { internal: ['the internal root secret of tests'], admin: ["the operators' root secret of tests"] };
const KEYS = internalKeysOf('lookup', ROOTS);
const log = pino({ level: 'silent' });
const CA_FILES: CaVariable[] = ['PLATFORMS_CA_FILE', 'REDIS_TLS_CA_FILE'];
const NOWHERE = {
  REDIS_URL: 'rediss://127.0.0.1:1',
  REDIS_TLS_CA_FILE: '/nowhere/redis.crt',
  PLATFORMS_CA_FILE: '/nowhere/platforms.crt',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere/collector.crt',
};

test('faults of variables, keys, certificate files and the duration of a stop are reported together', async () => {
  const definition = {
    name: 'lookup',
    readConfig: (environment: Environment) => readConfig(processConfig, environment),
    caFiles: CA_FILES,
    build: () => expect.unreachable(),
  };
  const environment = {
    ...NOWHERE,
    LOG_LEVEL: 'loud',
    DRAIN_DELAY_SECONDS: '9',
    INTERNAL_KEYS: KEYS.split(',')
      .filter((entry) => !entry.startsWith('ticket:lookup='))
      .join(','),
    INTERNAL_TLS_CERT_FILE: '/nowhere/tls.crt',
    INTERNAL_TLS_KEY_FILE: '/nowhere/tls.key',
    INTERNAL_TLS_CA_FILE: import.meta.filename,
  };
  const absent = (file: string) => `ENOENT: no such file or directory, open '/nowhere/${file}'`;
  await expect(startService(definition, environment, { log })).rejects.toMatchObject({
    faults: [
      'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent',
      'STOP_SECONDS must be at least DRAIN_DELAY_SECONDS + 17, which is 26',
      'INTERNAL_KEYS has no key for ticket:lookup',
      `INTERNAL_TLS_… cannot be used: ${absent('tls.crt')}`,
      `INTERNAL_TLS_… cannot be used: ${absent('tls.key')}`,
      `INTERNAL_TLS_… cannot be used: ${import.meta.filename} is not valid PEM of the expected kind`,
      `PLATFORMS_CA_FILE cannot be used: ${absent('platforms.crt')}`,
      `REDIS_TLS_CA_FILE cannot be used: ${absent('redis.crt')}`,
      `OTEL_EXPORTER_OTLP_CERTIFICATE cannot be used: ${absent('collector.crt')}`,
    ],
  });
});

test('a file of CAs that the process does not read is no fault', () => {
  const unused = { ...NOWHERE, REDIS_URL: 'redis://127.0.0.1:1', OTEL_EXPORTER_OTLP_ENDPOINT: '', INTERNAL_KEYS: KEYS };
  expect(faultsOfProcess({ name: 'lookup', caFiles: ['REDIS_TLS_CA_FILE'] }, unused)).toEqual([]);
});

test('a variable that is invalid by itself is left to the check of that variable', () => {
  expect(faultsOfProcess({ name: 'lookup' }, { INTERNAL_KEYS: 'a', STOP_SECONDS: 'b' })).toEqual([]);
  expect(faultsOfProcess({ name: 'lookup' }, { STOP_SECONDS: '1', DRAIN_DELAY_SECONDS: '999' })).toEqual([]);
});
