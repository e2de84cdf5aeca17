import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { bare, cleanUp } from '#kit/fixtures/sample-grpc.ts';
import { DEPLOYABLES, type Deployable } from '#local/processes.ts';
import { databaseRows } from '#test/postgres/database.ts';
import { runScript } from '#test/system/processes.ts';
import { ImageSystem } from './fixture.ts';
import { PROGRAMS, programFile } from './programs.ts';

const SERVICE = 'guild.lookup.v1.LookupService';
/** Requests of the reflection protocol. */
const LIST_SERVICES = Buffer.from([0x3a, 0]);
const DESCRIBE_SERVICE = Buffer.concat([Buffer.from([0x22, SERVICE.length]), Buffer.from(SERVICE)]);
/** Nine processes start at the same time, on a machine that may be busy. */
const START_MS = 180_000;
const GUILD = '900000000000000001';
let system: ImageSystem;
let key: string;

beforeAll(async () => {
  system = await ImageSystem.prepare();
  await Promise.all(DEPLOYABLES.map((deployable) => system.start(deployable)));
  const words = ['keys', 'create', '--guild', GUILD, '--all-scopes', '--name', 'test', '--json'];
  key = (JSON.parse((await system.run('guildctl', words)).output) as { key: string }).key;
}, START_MS);
afterAll(() => system.stop());

const get = (path: string) =>
  fetch(`${system.gatewayUrl}${path}`, { headers: { 'x-api-key': key, 'x-guild-id': GUILD } });

test('the folder has one file per program, its source map, and only what programs read', () => {
  const files = globSync('**/*', { cwd: system.folder, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(system.folder.length + 1));
  const programs = Object.keys(PROGRAMS).flatMap((name) => [programFile(name), `${programFile(name)}.map`]);
  expect(paths).toEqual(expect.arrayContaining(programs));
  expect(paths.filter((path) => path.endsWith('.js') && !path.includes('/')).length).toBe(programs.length / 2);
  expect(paths.filter((path) => /^(?!gateway\/docs\/examples\/).*\.ts$/.test(path))).toEqual([]);
});

test('every path that code reads at run time exists in the folder', () => {
  const sources = globSync('{services,gateway,deploy}/**/*.ts', { cwd: pathOf('.') }).filter(
    (path) => !/\.test\.ts$|node_modules|^deploy\/bundle\//.test(path),
  );
  const read = sources.flatMap((path) => {
    const calls = readFileSync(pathOf(path), 'utf8').matchAll(/\bpathOf\((['`])(.+?)\1\)/g);
    return [...calls].map(([, , name = '']) => name.replaceAll(/\$\{\w+\}/g, '*'));
  });
  expect(read.length).toBeGreaterThan(8);
  const written = [...read].filter((name) => name !== '.data');
  expect(written.filter((name) => globSync(name, { cwd: system.folder }).length === 0)).toEqual([]);
});

test('the gateway serves the documentation, and requests are counted in Redis and answered by the services', async () => {
  for (const path of ['/docs', '/docs/webhooks', '/changelog', '/openapi.json', '/postman.json', '/docs/style.css']) {
    expect([path, (await fetch(`${system.gatewayUrl}${path}`)).status]).toEqual([path, 200]);
  }
  expect((await get('/api/v1/whoami')).status).toBe(200);
  // Reads from the simulated platforms too, with the budget that scripts in Redis keep.
  const response = await get('/api/v1/bindings/list');
  expect(response.status).toBe(200);
  expect(response.headers.get('x-ratelimit-limit')).not.toBeNull();
});

test('the console serves its app', async () => {
  const page = await (await fetch(system.consoleUrl)).text();
  const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(page) ?? [];
  expect((await fetch(`${system.consoleUrl}${script}`)).status).toBe(200);
});

test('reflection works where it is configured, although its package reads files of its own', async () => {
  const lookup = DEPLOYABLES.find(({ name }) => name === 'lookup') as Deployable;
  await system.processes.get('lookup')?.kill('SIGTERM');
  const { at } = await system.start(lookup, { GRPC_REFLECTION: 'true' });
  const ask = (request: Buffer<ArrayBuffer>) =>
    bare(at.addresses.grpc ?? '', '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', request).then(String);
  expect(await ask(LIST_SERVICES)).toContain(SERVICE);
  expect(await ask(DESCRIBE_SERVICE)).toContain('GetLinksRequest');
  await cleanUp();
});

test('stack traces name the source files', async () => {
  await databaseRows(system.databaseUrl, 'ALTER TABLE lookup.links RENAME TO gone');
  expect((await get('/api/v1/lookup/game/7001')).status).toBe(500);
  const failed = () => system.lines.find((line) => line.includes('request failed') && line.includes('lookup'));
  await expect.poll(failed).toBeDefined();
  const { err } = JSON.parse(failed() ?? '') as { err: { stack: string; cause?: { stack: string } } };
  expect(`${err.stack}${err.cause?.stack}`).toMatch(/services\/lookup\/\w+\/[\w-]+\.ts:\d+\)?$/m);
  await databaseRows(system.databaseUrl, 'ALTER TABLE lookup.gone RENAME TO links');
});

test('the tools run: migrations, the wait for the schema, the simulated platforms', async () => {
  const environment = { DATABASE_URL: system.databaseUrl };
  expect(await system.run('migrate', [], environment)).toMatchObject({ status: 0, output: 'nothing to migrate\n' });
  expect(await system.run('wait-for-schema', ['lookup'], environment)).toEqual({ status: 0, output: '', errors: '' });
  const simulators = runScript([process.execPath, system.path('simulators')], {});
  await expect.poll(() => simulators.output()).toContain('"chat":"http://');
  simulators.process.kill();
  await simulators.ended;
});
