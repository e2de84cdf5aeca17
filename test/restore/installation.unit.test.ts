import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findInstallations } from './installation.ts';

const folder = mkdtempSync(join(tmpdir(), 'guild-data-installations-'));
afterAll(() => rmSync(folder, { recursive: true }));

const CLIENTS = ['initdb', 'pg_dump', 'pg_dumpall', 'pg_restore', 'pg_basebackup', 'psql'];

/** A folder with programs, of which `postgres` prints a version. */
function installation(version: string, clients = CLIENTS): string {
  const bin = join(folder, version);
  mkdirSync(bin);
  for (const name of [...clients, 'postgres']) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho 'postgres (PostgreSQL) ${version} (Debian ${version}-1)'\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

test('the installations in PG_BIN are used, the oldest major version first', () => {
  const [newer, older] = [installation('18.1'), installation('9.6')];
  expect(findInstallations({ PG_BIN: `${newer}:${older}` })).toEqual([
    { version: '9', folder: older },
    { version: '18', folder: newer },
  ]);
});

test('a folder in PG_BIN without one of the programs is reported', () => {
  const incomplete = installation('17.5', ['initdb', 'pg_dump']);
  expect(() => findInstallations({ PG_BIN: incomplete })).toThrow(`PG_BIN names ${incomplete}, which lacks one of`);
});
