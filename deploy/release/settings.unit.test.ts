import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeKey } from './fixture.ts';
import { readSettings } from './settings.ts';

let folder: string;
let RELEASE_KEY_FILE: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'settings-'));
  RELEASE_KEY_FILE = join(folder, 'key.pem');
  writeFileSync(RELEASE_KEY_FILE, makeKey().pem);
});
afterAll(() => rmSync(folder, { recursive: true }));

const destination = (RELEASE_TO: string, more: NodeJS.ProcessEnv = {}) =>
  readSettings({ RELEASE_KEY_FILE, RELEASE_TO, ...more }).destination;

test('RELEASE_TO is a folder or a registry', () => {
  expect(destination('dist')).toEqual({ folder: resolve('dist') });
  expect(destination('oci://127.0.0.1:5000/a')).toEqual({ host: '127.0.0.1:5000', path: 'a' });
  const credentials = { user: 'u', password: 'p' };
  const variables = { RELEASE_USER: 'u', RELEASE_PASSWORD: 'p' };
  expect(destination('oci://r.example/a/b/', variables)).toEqual({ host: 'r.example', path: 'a/b', credentials });
});

test.each(['https://r.example/a', 'oci://r.example', 'oci://r.example/A', 'oci://r.example/a//b'])(
  '%s is rejected',
  (to) => {
    expect(() => destination(to)).toThrow('RELEASE_TO must be a folder or oci://HOST/PATH in lower case');
  },
);

test.each([{ RELEASE_USER: 'u' }, { RELEASE_PASSWORD: 'p' }, { RELEASE_USER: 'u', RELEASE_PASSWORD: '' }])(
  '%j alone is rejected, because the registry would be used without credentials',
  (variables) => {
    expect(() => destination('oci://r.example/a', variables)).toThrow(
      'set both RELEASE_USER and RELEASE_PASSWORD, or neither',
    );
  },
);

test('empty credentials are none', () => {
  const variables = { RELEASE_USER: '', RELEASE_PASSWORD: '' };
  expect(destination('oci://r.example/a', variables)).toEqual({ host: 'r.example', path: 'a' });
});

test('the secrets are not left in the environment, which other programs inherit', () => {
  const environment = { RELEASE_KEY_FILE, RELEASE_TO: 'oci://r.example/a', RELEASE_USER: 'u', RELEASE_PASSWORD: 'p' };
  const variables: NodeJS.ProcessEnv = { ...environment, RELEASE_KEY_PASSPHRASE: 'unused' };
  expect(readSettings(variables).destination).toMatchObject({ credentials: { password: 'p' } });
  expect(Object.keys(variables)).toEqual(['RELEASE_KEY_FILE', 'RELEASE_TO', 'RELEASE_USER']);
});

test('a key that cannot be read is named by its variable', () => {
  expect(() => readSettings({ RELEASE_TO: 'dist', RELEASE_KEY_FILE: join(folder, 'absent') })).toThrow(
    /^RELEASE_KEY_FILE cannot be used: ENOENT/,
  );
});

test('the error names every variable that is missing or wrong', () => {
  expect(() => readSettings({ RELEASE_BUILDER: 'me' })).toThrow(
    /^set RELEASE_TO to a folder.*\nset RELEASE_KEY_FILE to .*\nRELEASE_BUILDER must be a URI$/s,
  );
});

test('--help describes every variable, and an argument is rejected', () => {
  const run = (option: string) =>
    spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), option], { encoding: 'utf8', env: {} });
  const { status, stdout } = run('--help');
  expect(status).toBe(0);
  const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
  const variables = readme.match(/^\| `.*`(?= \|)/gm)?.flatMap((row) => row.match(/[A-Z_]{6,}/g) ?? []) ?? [];
  expect(variables).toContain('RELEASE_TO');
  for (const name of variables) expect(stdout).toContain(name);
  expect(run('dist')).toMatchObject({ status: 1, stderr: expect.stringContaining('takes no arguments') });
});
