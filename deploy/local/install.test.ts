import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { processesUsing, type RunningScript, runScript } from '#test/system/processes.ts';

let folder: string;
let stamp: string;

/** A new checkout, and an npm on the path that records its calls and creates an empty folder of programs. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-install-'));
  stamp = join(folder, 'node_modules', '.complete');
  mkdirSync(join(folder, 'deploy', 'local'), { recursive: true });
  mkdirSync(join(folder, 'programs'));
  cpSync(join(import.meta.dirname, 'install.mjs'), join(folder, 'deploy', 'local', 'install.mjs'));
  writeFileSync(join(folder, 'package-lock.json'), '{}');
  program('npm', 'rm -rf node_modules; echo "$@" >> calls; [ ! -e slow ] || exec sleep 60; mkdir -p node_modules/.bin');
  return () => rmSync(folder, { recursive: true });
});

function program(name: string, script: string): void {
  writeFileSync(join(folder, 'programs', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

const run = (...command: [string, ...string[]]): RunningScript => runWith({}, ...command);

function runWith(environment: Record<string, string>, ...command: [string, ...string[]]): RunningScript {
  const path = `${join(folder, 'programs')}${delimiter}${process.env['PATH']}`;
  const words: [string, ...string[]] = [process.execPath, join(folder, 'deploy', 'local', 'install.mjs'), ...command];
  return runScript(words, { ...environment, PATH: path });
}

const calls = (): string[] => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');

test('packages are installed the first time and when package-lock.json has changed, and only then', async () => {
  expect(await run('true').ended).toBe(0);
  const second = run('echo', 'done');
  expect(await second.ended).toBe(0);
  expect(second.output()).toBe('done\n');
  expect(calls()).toEqual(['ci --no-audit --no-fund --loglevel=error']);
  writeFileSync(join(folder, 'package-lock.json'), '{"changed": true}');
  expect(await run('true').ended).toBe(0);
  expect(calls()).toHaveLength(2);
});

test('the secrets of a release reach the command, but not npm and the install scripts that it runs', async () => {
  program('npm', 'env >> environment; mkdir -p node_modules/.bin');
  const secrets = { RELEASE_KEY_PASSPHRASE: 'passphrase-1', RELEASE_PASSWORD: 'password-2', OTHER: 'other-3' };
  const script = runWith(secrets, 'env');
  expect(await script.ended).toBe(0);
  expect(script.output()).toMatch(/passphrase-1[^]*password-2|password-2[^]*passphrase-1/);
  const environment = readFileSync(join(folder, 'environment'), 'utf8');
  expect(environment).toContain('other-3');
  expect(environment).not.toMatch(/passphrase-1|password-2/);
});

test('an installation that was killed is repeated, and no npm process remains', async () => {
  writeFileSync(join(folder, 'slow'), '');
  const killed = run('true');
  await expect.poll(calls).toHaveLength(1);
  await expect.poll(() => processesUsing(folder).some((line) => line.includes('sleep'))).toBe(true);
  killed.process.kill('SIGKILL');
  await killed.ended;
  expect(existsSync(stamp)).toBe(false);
  await expect.poll(() => processesUsing(folder).filter((line) => line.includes('sleep'))).toEqual([]);
  rmSync(join(folder, 'slow'));
  expect(await run('true').ended).toBe(0);
  expect(calls()).toHaveLength(2);
  expect(existsSync(stamp)).toBe(true);
});

test('two concurrent starts install once', async () => {
  expect(await Promise.all([run('true').ended, run('true').ended])).toEqual([0, 0]);
  expect(calls()).toHaveLength(1);
});

test('a failed installation ends with status 1 and does not run the command', async () => {
  program('npm', 'exit 3');
  const script = run('echo', 'ran');
  expect(await script.ended).toBe(1);
  expect(script.output()).toContain('npm ci failed (exit status 3)');
  expect(script.output()).not.toContain('ran');
});

test("the exit status, the signal or a missing command is reported as the command's own", async () => {
  expect(await run('sh', '-c', 'exit 7').ended).toBe(7);
  expect(await run('sh', '-c', 'kill -KILL $$').ended).toBe('SIGKILL');
  expect(await run('no-such-program').ended).toBe(127);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s is forwarded to the command, and its orderly end is awaited',
  async (signal) => {
    const trap = `trap 'sleep 0.1; echo clean; exit 0' ${signal.slice(3)}; echo ready; while :; do sleep 0.05; done`;
    const script = run('sh', '-c', trap);
    await expect.poll(() => script.output()).toContain('ready');
    // Twice, as a terminal and npm send it.
    script.process.kill(signal);
    script.process.kill(signal);
    expect(await script.ended).toBe(0);
    expect(script.output()).toContain('clean');
  },
);

test('without a packaged Node, an error names a Node that is too old and what to do', async () => {
  program('node', 'echo v22.1.0');
  const script = run('echo', 'ran');
  expect(await script.ended).toBe(1);
  expect(script.output()).toMatch(/Node 24 or newer is needed \(found: v22\.1\.0\)/);
  program('node', 'echo v24.0.0');
  expect(await run('true').ended).toBe(0);
});

test('npm sends its signals to the command and not to a shell', () => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8');
  for (const script of ['start', 'dev', 'test'])
    expect(text).toContain(`"${script}": "exec node deploy/local/install.mjs `);
});
