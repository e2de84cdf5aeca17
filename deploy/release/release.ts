import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Architecture } from './base/lock.ts';
import { addChart, packageChart } from './chart/chart.ts';
import { attach, attachStatement, BILL_TYPE, signArtefact } from './evidence/attach.ts';
import { checksumsIn, checksumsOf } from './evidence/checksums.ts';
import type { SigningKey } from './evidence/key.ts';
import { type Materials, provenanceOf } from './evidence/provenance.ts';
import { bundleOf, PREDICATE, statementOf } from './evidence/statement.ts';
import { addImage, type Layer, type Origin } from './image/image.ts';
import type { ImageSettings } from './image/settings.ts';
import type { Descriptor } from './oci/descriptor.ts';
import { Layout } from './oci/layout.ts';
import { publishable, push } from './oci/push.ts';
import { Repository } from './oci/registry.ts';
import type { Destination } from './settings.ts';

/** Everything from which a release is made. */
export type Sources = {
  origin: Origin;
  settings: ImageSettings;
  layersOf: (architecture: Architecture) => Layer[] | Promise<Layer[]>;
  /** The folder of the chart. */
  chart: string;
  /** The bill of materials of the image. */
  bill: Buffer;
  materials: Materials;
};

type Signer = { key: SigningKey; builder: string };

/** A finished release in its folder. */
export type Release = { folder: string; version: string; image: Artefact; chart: Artefact };

/** `name` is how clients call it: the host of the registry, if there is one, and the repository. */
type Artefact = { layout: Layout; descriptor: Descriptor; name: string };

const IMAGE = 'guild-data';
const CHART = 'charts/guild-data';

const repositoryOf = ({ path }: { path: string }, name: string): string => `${path}/${name}`;

const nameOf = (destination: Destination, name: string): string =>
  'folder' in destination ? name : `${destination.host}/${repositoryOf(destination, name)}`;

/** Writes a release into an empty folder. The destination decides which names are signed. */
export async function writeRelease(
  folder: string,
  destination: Destination,
  sources: Sources,
  signer: Signer,
): Promise<Release> {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`);
  const { origin, bill } = sources;
  const image = await artefactOf(join(folder, 'image'), nameOf(destination, IMAGE), (layout) =>
    addImage(layout, sources),
  );
  const from =
    'folder' in destination ? undefined : { registry: destination.host, repository: repositoryOf(destination, IMAGE) };
  const packaged = packageChart(sources.chart, origin.committed, from);
  const add = (layout: Layout): Descriptor => addChart(layout, packaged, origin);
  const chart = await artefactOf(join(folder, 'chart'), nameOf(destination, CHART), add);
  const { version } = packaged.metadata;
  if (version !== origin.version) throw new Error(`the chart has version ${version}, package.json ${origin.version}`);
  const documents = new Map([
    [`guild-data-${version}.tgz`, packaged.archive],
    ['sbom.cdx.json', bill],
    ...provenanceFiles([image, chart], sources, signer),
  ]);
  for (const [name, content] of documents) writeFileSync(join(folder, name), content);
  attachAll(image, chart, documents, sources, signer);
  const checksums = checksumsIn(folder);
  writeFileSync(join(folder, 'SHA256SUMS'), checksums);
  writeFileSync(join(folder, 'SHA256SUMS.sig'), `${signer.key.sign(Buffer.from(checksums))}\n`);
  return { folder, version, image, chart };
}

type Add = (layout: Layout) => Descriptor | Promise<Descriptor>;

async function artefactOf(folder: string, name: string, add: Add): Promise<Artefact> {
  const layout = new Layout(folder);
  return { layout, name, descriptor: await add(layout) };
}

const subjectOf = ({ name, descriptor }: Artefact) => ({
  name,
  digest: { sha256: descriptor.digest.slice('sha256:'.length) },
});

/** The provenance of both artefacts together, as it is read and as it is signed. */
function provenanceFiles(artefacts: Artefact[], { origin, materials }: Sources, signer: Signer): [string, Buffer][] {
  const statement = provenanceOf(artefacts.map(subjectOf), origin, materials, signer.builder);
  return [
    ['provenance.json', Buffer.from(`${JSON.stringify(statement, null, 2)}\n`)],
    ['provenance.sigstore.json', bundleOf(statement, signer.key)],
  ];
}

/** Signs both artefacts, and attaches what describes them. */
function attachAll(
  image: Artefact,
  chart: Artefact,
  documents: Map<string, Buffer>,
  { origin, materials, bill }: Sources,
  { key, builder }: Signer,
): void {
  for (const artefact of [image, chart]) {
    const { layout, descriptor, name } = artefact;
    // Some container runtimes verify the index, others the image of their architecture.
    const { manifests = [] } = layout.readManifest(descriptor);
    for (const each of [descriptor, ...manifests]) signArtefact(layout, each, name, key);
    attachStatement(layout, descriptor, provenanceOf([subjectOf(artefact)], origin, materials, builder), key);
  }
  const { layout, descriptor } = image;
  attach(layout, descriptor, { type: BILL_TYPE, title: 'sbom.cdx.json', content: bill });
  const billOfImage = statementOf([subjectOf(image)], PREDICATE.bill, JSON.parse(bill.toString()));
  attachStatement(layout, descriptor, billOfImage, key);
  const content = Buffer.from(checksumsOf(documents));
  attach(layout, descriptor, { type: 'text/plain', title: 'SHA256SUMS', content });
}

/**
 * Copies a release into the repositories of a registry, the image first, because the chart needs it. Publishes nothing if
 * the version of one of them is already published with other content.
 */
export async function pushRelease({ version, image, chart }: Release, destination: Destination): Promise<void> {
  if ('folder' in destination) return;
  const repository = (name: string): Repository =>
    new Repository(destination.host, repositoryOf(destination, name), destination.credentials);
  const parts = [
    { layout: image.layout, to: repository(IMAGE) },
    { layout: chart.layout, to: repository(CHART) },
  ];
  for (const { layout, to } of parts) await publishable(layout, to, version);
  for (const { layout, to } of parts) await push(layout, to, version);
}

/** What to publish about a release, so that users can compare it. */
export const summaryOf = ({ image, chart }: Release): string[] =>
  [image, chart].map(({ name, descriptor }) => `${name}@${descriptor.digest}`);
