import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { Authority, writeTlsFiles } from '#test/network/certificates.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { InternalTls } from './internal-tls.ts';
import { faultsOfInternalTls, type InternalTlsConfig } from './tls-identity.ts';

const authority = new Authority('ours');
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** The files of a new certificate. */
function files(): InternalTlsConfig {
  const folder = mkdtempSync(join(tmpdir(), 'tls-identity-'));
  folders.push(folder);
  return writeTlsFiles(folder, authority.issue(), authority.cert);
}

test('without files there is no TLS', () => {
  expect(InternalTls.from({}, { metrics: new Metrics(), log: pino({ level: 'silent' }) })).toBeUndefined();
});

test('with only some or unusable files a process does not start, and every fault is reported', () => {
  const config = files();
  const other = files();
  expect(faultsOfInternalTls(config)).toEqual([]);
  expect(faultsOfInternalTls({ INTERNAL_TLS_KEY_FILE: config.INTERNAL_TLS_KEY_FILE })).toEqual([
    'INTERNAL_TLS_CERT_FILE is required with the other two',
    'INTERNAL_TLS_CA_FILE is required with the other two',
  ]);
  expect(
    faultsOfInternalTls({
      INTERNAL_TLS_CERT_FILE: config.INTERNAL_TLS_KEY_FILE,
      INTERNAL_TLS_KEY_FILE: '/nowhere/key.pem',
      INTERNAL_TLS_CA_FILE: config.INTERNAL_TLS_CA_FILE,
    }),
  ).toEqual([
    `INTERNAL_TLS_… cannot be used: ${config.INTERNAL_TLS_KEY_FILE} is not valid PEM of the expected kind`,
    expect.stringMatching("ENOENT.*'/nowhere/key.pem'"),
  ]);
  expect(faultsOfInternalTls({ ...config, INTERNAL_TLS_KEY_FILE: other.INTERNAL_TLS_KEY_FILE })).toEqual([
    `INTERNAL_TLS_… cannot be used: ${other.INTERNAL_TLS_KEY_FILE} is not the key of ${config.INTERNAL_TLS_CERT_FILE}`,
  ]);
});
