import { execFileSync, spawnSync } from 'node:child_process';
import { verify } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readTar } from './archive/untar.ts';
import { CHART } from './chart/chart.ts';
import { BILL_TYPE } from './evidence/attach.ts';
import { BUNDLE_TYPE, type Statement, signedBytes } from './evidence/statement.ts';
import { canStartRegistry, makeKey, ORIGIN, type Registry, smallSources, startRegistry } from './fixture.ts';
import { type Descriptor, digestOf, type Manifest, MEDIA, tagOf } from './oci/descriptor.ts';
import { push } from './oci/push.ts';
import { Repository } from './oci/registry.ts';
import { pushRelease, type Release, writeRelease } from './release.ts';
import type { Destination } from './settings.ts';

const hasRegistry = canStartRegistry();
beforeEach(({ skip }) => skip(!hasRegistry, 'there is no docker-registry'));

const { key, publicKey } = makeKey();
const signer = { key, builder: 'https://ci.example/runner' };

let folder: string;
let registry: Registry;
let destination: Destination;
let release: Release;
let images: Repository;
let charts: Repository;

beforeAll(async () => {
  if (!hasRegistry) return;
  folder = mkdtempSync(join(tmpdir(), 'release-'));
  registry = await startRegistry(folder);
  destination = { host: registry.host, path: 'community' };
  release = await writeRelease(join(folder, 'first'), destination, smallSources(), signer);
  await pushRelease(release, destination);
  images = new Repository(registry.host, 'community/guild-data');
  charts = new Repository(registry.host, 'community/charts/guild-data');
});
afterAll(async () => {
  await registry?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

async function manifestOf(repository: Repository, reference: string): Promise<Manifest> {
  const found = await repository.readManifest(reference);
  if (!found) throw new Error(`the registry has no ${reference}`);
  return found.manifest;
}

const jsonOf = async <Value>(repository: Repository, descriptor: Descriptor | undefined): Promise<Value> =>
  JSON.parse((await repository.readBlob(descriptor?.digest ?? '')).toString()) as Value;

/** The artefacts of a type that belong to the digest, as clients find them in a registry without the referrers API. */
async function referrers(repository: Repository, digest: string, type: string): Promise<Manifest[]> {
  const { manifests = [] } = await manifestOf(repository, tagOf(digest));
  const found = manifests.filter(({ artifactType }) => artifactType === type);
  return Promise.all(found.map((each) => manifestOf(repository, each.digest)));
}

/** The statements about a digest, after their signatures were verified with the public key. */
async function verifiedStatements(repository: Repository, digest: string): Promise<Map<string, Statement>> {
  type Bundle = { dsseEnvelope: { payload: string; signatures: { sig: string }[] } };
  const manifests = await referrers(repository, digest, BUNDLE_TYPE);
  const statements = manifests.map(async ({ layers, subject }) => {
    expect(subject?.digest).toBe(digest);
    const { dsseEnvelope } = await jsonOf<Bundle>(repository, layers?.[0]);
    const payload = Buffer.from(dsseEnvelope.payload, 'base64');
    const signature = Buffer.from(dsseEnvelope.signatures[0]?.sig ?? '', 'base64');
    expect(verify('sha256', signedBytes(payload), publicKey, signature)).toBe(true);
    const statement = JSON.parse(payload.toString()) as Statement;
    return [statement.predicateType, statement] as const;
  });
  return new Map(await Promise.all(statements));
}

test('the registry has an image for both architectures, with the layers that its configuration lists', async () => {
  const index = await manifestOf(images, '0.1.0');
  expect(index.manifests?.map(({ platform }) => platform)).toEqual([
    { os: 'linux', architecture: 'amd64' },
    { os: 'linux', architecture: 'arm64' },
  ]);
  for (const { digest, platform } of index.manifests ?? []) {
    const { config, layers = [] } = await manifestOf(images, digest);
    const facts = await jsonOf<{ architecture: string; rootfs: { diff_ids: string[] } }>(images, config);
    expect(facts.architecture).toBe(platform?.architecture);
    const archives = await Promise.all(layers.map(async (each) => gunzipSync(await images.readBlob(each.digest))));
    expect(archives.map(digestOf)).toEqual(facts.rootfs.diff_ids);
    const [base] = readTar(archives[0] ?? Buffer.alloc(0)).slice(-1);
    expect(base).toMatchObject({ path: 'etc/architecture', content: Buffer.from(platform?.architecture ?? '') });
  }
});

test('the chart has the media types of Helm and takes its image from the same registry', async () => {
  const { config, layers = [], annotations } = await manifestOf(charts, '0.1.0');
  expect([config?.mediaType, ...layers.map(({ mediaType }) => mediaType)]).toEqual([CHART.config, CHART.content]);
  expect(annotations).toMatchObject({ 'org.opencontainers.image.version': '0.1.0' });
  expect(await jsonOf(charts, config)).toMatchObject({ apiVersion: 'v2', name: 'guild-data', version: '0.1.0' });
  const files = readTar(gunzipSync(await charts.readBlob(layers[0]?.digest ?? '')));
  const values = files.find(({ path }) => path === 'guild-data/values.yaml');
  expect(values?.type === 'file' && parse(values.content.toString()).image).toMatchObject({
    registry: registry.host,
    repository: 'community/guild-data',
  });
});

test('the chart, the image, and the image of each architecture have a signature where cosign 2 looks for it', async () => {
  const { layout, descriptor } = release.image;
  const signed = [descriptor, ...(layout.readManifest(descriptor).manifests ?? [])].map(
    (each) => [images, each] as const,
  );
  for (const [repository, { digest }] of [...signed, [charts, release.chart.descriptor] as const]) {
    const { layers = [] } = await manifestOf(repository, `${tagOf(digest)}.sig`);
    const payload = await repository.readBlob(layers[0]?.digest ?? '');
    const signature = layers[0]?.annotations?.['dev.cosignproject.cosign/signature'] ?? '';
    expect(verify('sha256', payload, publicKey, Buffer.from(signature, 'base64'))).toBe(true);
    const { critical } = JSON.parse(payload.toString());
    expect(critical.image['docker-manifest-digest']).toBe(digest);
    const name = repository === images ? 'guild-data' : 'charts/guild-data';
    expect(critical.identity['docker-reference']).toBe(`${registry.host}/community/${name}`);
  }
  expect(signed).toHaveLength(3);
});

test('signed statements about the image: signature, provenance and bill of materials', async () => {
  const { digest } = release.image.descriptor;
  const statements = await verifiedStatements(images, digest);
  expect([...statements.keys()].toSorted()).toEqual([
    'https://cyclonedx.org/bom',
    'https://sigstore.dev/cosign/sign/v1',
    'https://slsa.dev/provenance/v1',
  ]);
  for (const { subject } of statements.values()) expect(`sha256:${subject[0]?.digest.sha256}`).toBe(digest);
  expect(statements.get('https://slsa.dev/provenance/v1')?.predicate).toMatchObject({
    buildDefinition: {
      externalParameters: { version: '0.1.0', commit: ORIGIN.commit },
      resolvedDependencies: expect.arrayContaining([
        expect.objectContaining({ uri: expect.stringMatching(/^pkg:deb\/debian\/libc6@.*arch=arm64/) }),
      ]),
    },
    runDetails: { builder: { id: 'https://ci.example/runner' } },
  });
  const chart = await verifiedStatements(charts, release.chart.descriptor.digest);
  expect(chart.has('https://slsa.dev/provenance/v1')).toBe(true);
});

test('the bill of materials and the checksums are attached to the image', async () => {
  const { digest } = release.image.descriptor;
  const [bill] = await referrers(images, digest, BILL_TYPE);
  expect(bill?.config?.mediaType).toBe(MEDIA.empty);
  expect(await images.readBlob(bill?.layers?.[0]?.digest ?? '')).toEqual(smallSources().bill);
  const [checksums] = await referrers(images, digest, 'text/plain');
  writeFileSync(join(release.folder, 'attached'), await images.readBlob(checksums?.layers?.[0]?.digest ?? ''));
  const output = execFileSync('sha256sum', ['--check', 'attached'], { cwd: release.folder, encoding: 'utf8' });
  rmSync(join(release.folder, 'attached'));
  expect(output).toMatch(/^guild-data-0\.1\.0\.tgz: OK$/m);
});

test('sha256sum checks every file of the folder, and OpenSSL the signature of the list', () => {
  const check = () => spawnSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: release.folder }).status;
  expect(check()).toBe(0);
  const sums = readFileSync(join(release.folder, 'SHA256SUMS'), 'utf8');
  expect(sums.match(/\n/g)?.length).toBe(filesOf(release.folder).length - 2);
  const public_ = join(folder, 'public.pem');
  writeFileSync(public_, publicKey.export({ type: 'spki', format: 'pem' }));
  const signature = Buffer.from(readFileSync(join(release.folder, 'SHA256SUMS.sig'), 'utf8'), 'base64');
  writeFileSync(join(folder, 'signature'), signature);
  const parameters = ['dgst', '-sha256', '-verify', public_, '-signature', join(folder, 'signature'), 'SHA256SUMS'];
  const openssl = () => spawnSync('openssl', parameters, { cwd: release.folder }).status;
  expect(openssl()).toBe(0);
  writeFileSync(join(release.folder, 'SHA256SUMS'), sums.replace('sbom', 'sbam'));
  expect([check(), openssl()]).toEqual([1, 1]);
  writeFileSync(join(release.folder, 'SHA256SUMS'), sums);
});

const filesOf = (path: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ name }) => name);

test('a second run gives the same image, chart, bill and provenance; pushing it again changes nothing', async () => {
  const second = await writeRelease(join(folder, 'second'), destination, smallSources(), signer);
  expect([second.image.descriptor, second.chart.descriptor]).toEqual([
    release.image.descriptor,
    release.chart.descriptor,
  ]);
  for (const name of ['guild-data-0.1.0.tgz', 'sbom.cdx.json', 'provenance.json']) {
    expect(readFileSync(join(second.folder, name))).toEqual(readFileSync(join(release.folder, name)));
  }
  await pushRelease(second, destination);
  expect((await images.readManifest('0.1.0'))?.digest).toBe(release.image.descriptor.digest);
});

test('a published version is never replaced by other content', async () => {
  const sources = { ...smallSources(), origin: { ...ORIGIN, commit: 'd'.repeat(40) } };
  const other = await writeRelease(join(folder, 'other'), destination, sources, signer);
  await expect(pushRelease(other, destination)).rejects.toThrow(
    'version 0.1.0 is already published with other content',
  );
  expect((await images.readManifest('0.1.0'))?.digest).toBe(release.image.descriptor.digest);
});

test('if the chart of a version is published with other content, the image is not published either', async () => {
  const half = { host: registry.host, path: 'half' };
  const sources = { ...smallSources(), origin: { ...ORIGIN, commit: 'e'.repeat(40) } };
  const before = await writeRelease(join(folder, 'half-before'), half, sources, signer);
  await push(before.chart.layout, new Repository(registry.host, 'half/charts/guild-data'), '0.1.0');
  const after = await writeRelease(join(folder, 'half-after'), half, smallSources(), signer);
  await expect(pushRelease(after, half)).rejects.toThrow('version 0.1.0 is already published with other content');
  const image = new Repository(registry.host, 'half/guild-data');
  expect(await image.readManifest('0.1.0')).toBeUndefined();
  expect(await image.readManifest(after.image.descriptor.digest)).toBeUndefined();
});

test('a release in a folder names no registry, and a folder with files is rejected', async () => {
  const local = await writeRelease(join(folder, 'local'), { folder: join(folder, 'local') }, smallSources(), signer);
  const files = readTar(gunzipSync(readFileSync(join(local.folder, 'guild-data-0.1.0.tgz'))));
  const values = files.find(({ path }) => path === 'guild-data/values.yaml');
  expect(values?.type === 'file' && parse(values.content.toString()).image.registry).toBe('');
  const again = writeRelease(local.folder, { folder: local.folder }, smallSources(), signer);
  await expect(again).rejects.toThrow('is not empty');
});
