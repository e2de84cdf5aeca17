import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { processesUsing, type RunningScript, runScript } from '#test/system/processes.ts';

let folder: string;
let stamp: string;

/** A checkout of its own, and an npm on the path that notes its calls and installs an empty folder of programs. */
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

function run(...command: string[]): RunningScript {
  const path = `${join(folder, 'programs')}${delimiter}${process.env['PATH']}`;
  return runScript([process.execPath, join(folder, 'deploy', 'local', 'install.mjs'), ...command], { PATH: path });
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

test('an installation that was killed half-way is done again, and leaves no npm at work', async () => {
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

test('two starts at once install once', async () => {
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

test("the command's end is told as it was: status, signal, not found", async () => {
  expect(await run('sh', '-c', 'exit 7').ended).toBe(7);
  expect(await run('sh', '-c', 'kill -KILL $$').ended).toBe('SIGKILL');
  expect(await run('no-such-program').ended).toBe(127);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s reaches the command, whose clean end is waited for',
  async (signal) => {
    const trap = `trap 'sleep 0.1; echo clean; exit 0' ${signal.slice(3)}; echo ready; while :; do sleep 0.05; done`;
    const script = run('sh', '-c', trap);
    await expect.poll(() => script.output()).toContain('ready');
    // Twice, as from a terminal and from npm.
    script.process.kill(signal);
    script.process.kill(signal);
    expect(await script.ended).toBe(0);
    expect(script.output()).toContain('clean');
  },
);

test('where there is no packaged Node, one that is too old is named with what to do', async () => {
  program('node', 'echo v22.1.0');
  const script = run('echo', 'ran');
  expect(await script.ended).toBe(1);
  expect(script.output()).toMatch(/Node 24 or newer is needed \(found: v22\.1\.0\)/);
  program('node', 'echo v24.0.0');
  expect(await run('true').ended).toBe(0);
});

test('npm hands its signals to the command, not to a shell that would die in its place', () => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8');
  for (const script of ['start', 'test']) expect(text).toContain(`"${script}": "exec node deploy/local/install.mjs `);
});
