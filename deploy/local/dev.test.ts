import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { withinBound } from '#test/measure/bounds.ts';
import { PATIENCE } from '#test/patience.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { processesUsing, type RunningScript, runScript } from '#test/system/processes.ts';
import { DEPLOYABLES } from './processes.ts';
import type { Up } from './system.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures');
const RESTART_MS = 1000;

let folder: string;
let database: TestDatabase;
let script: RunningScript;

/** A tree in which each process imports a file of its own; lookup and the gateway also share one. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-dev-'));
  for (const name of ['services', 'gateway', 'proto', 'deploy']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  cpSync(join(FIXTURES, 'service.ts'), join(folder, 'deploy', 'service.ts'));
  writeFileSync(join(folder, 'services', 'shared.ts'), '');
  for (const { name } of DEPLOYABLES) {
    mkdirSync(join(folder, 'services', name));
    const imports = ['./own.ts', '../../deploy/service.ts'];
    if (['lookup', 'gateway'].includes(name)) imports.push('../shared.ts');
    writeFileSync(join(folder, 'services', name, 'main.ts'), imports.map((path) => `import '${path}';\n`).join(''));
    writeFileSync(join(folder, 'services', name, 'own.ts'), '');
  }
  database = await createTestDatabase();
  script = runScript([process.execPath, join(FIXTURES, 'dev.ts')], {
    REPOSITORY: folder,
    DATA_DIR: join(folder, '.data'),
    GATEWAY_PORT: '0',
    DATABASE_URL: database.url,
    REDIS_URL: await testRedisUrl(),
  });
  await vi.waitFor(() => {
    if (!script.output().includes('Guild Data is ready')) throw new Error(script.output());
  }, PATIENCE);
});

afterAll(async () => {
  script.process.kill('SIGKILL');
  await database.drop();
  rmSync(folder, { recursive: true });
});

function readPids(): Record<string, number> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { services } = JSON.parse(readFileSync(join(folder, '.data', 'up.json'), 'utf8')) as Up;
  return Object.fromEntries(Object.entries(services).map(([name, { pid }]) => [name, pid]));
}

/** The processes whose ID is not the one that they had. */
function restartedSince(before: Record<string, number>): string[] {
  return Object.entries(readPids()).flatMap(([name, pid]) => (pid === before[name] ? [] : [name]));
}

/** Replaces a file in one step: a busy machine may report two separate steps as two changes. */
function save(file: string, text: string): void {
  writeFileSync(join(folder, 'saved'), text);
  renameSync(join(folder, 'saved'), join(folder, 'services', file));
}

/** The times that `npm run dev` has printed for the restarts of a process, in milliseconds. */
function restartTimes(name: string): number[] {
  const lines = script.output().matchAll(new RegExp(`^${name} restarted in ([\\d.]+) s`, 'gm'));
  return [...lines].map(([, seconds]) => Number(seconds) * 1000);
}

test('saving a file restarts only the process that imports it, within a second', async () => {
  const before = readPids();
  const saved = performance.now();
  save('lookup/own.ts', 'export {};\n');
  await expect.poll(() => restartedSince(before), { interval: 10 }).toEqual(['lookup']);
  withinBound('restart of one process after a save', performance.now() - saved, RESTART_MS);
  expect(restartTimes('lookup').length).toBeGreaterThan(0);
  expect(script.output()).toContain('services/lookup/own.ts changed');
});

test('saving a shared file restarts all processes that import it and no other', async () => {
  const before = readPids();
  save('shared.ts', 'export {};\n');
  await expect.poll(() => restartedSince(before)).toEqual(['lookup', 'gateway']);
});

test('a file that no process imports restarts nothing', async () => {
  const before = readPids();
  save('lookup/unused.ts', 'export {};\n');
  save('auth/own.ts', 'export {};\n');
  await expect.poll(() => restartedSince(before)).toEqual(['auth']);
});

test('a syntax error is printed, and the process starts when it is corrected', async () => {
  const before = readPids();
  const count = restartTimes('members').length;
  save('members/own.ts', 'const x = ;\n');
  await expect.poll(() => script.output()).toContain('Waiting for a change of members');
  expect(script.output()).toMatch(/members\/own\.ts:1\n.*SyntaxError/s);
  expect(restartTimes('members')).toHaveLength(count);
  save('members/own.ts', 'const x = 1;\nexport { x };\n');
  await expect.poll(() => restartTimes('members').length).toBeGreaterThan(count);
  await expect.poll(() => restartedSince(before)).toEqual(['members']);
});

test('each process has a debugger port of its own, which a restart keeps', async () => {
  const ports = [...script.output().matchAll(/^(\w+): debugger port 127\.0\.0\.1:(\d+)$/gm)];
  const names = ports.map(([, name = '']) => name);
  expect(names.toSorted()).toEqual(['simulators', ...DEPLOYABLES.map(({ name }) => name)].toSorted());
  const debuggers = () =>
    Promise.all(
      ports.map(async ([, , port]) => {
        const response = await fetch(`http://127.0.0.1:${port}/json/version`);
        return ((await response.json()) as { Browser: string }).Browser;
      }),
    );
  await expect.poll(debuggers).toEqual(ports.map(() => expect.stringContaining('node.js')));
});

test('a signal stops all processes, and the exit status is 0', async () => {
  script.process.kill('SIGTERM');
  expect(await script.ended).toBe(0);
  expect(processesUsing(folder)).toEqual([]);
});
