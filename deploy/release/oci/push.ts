import { ANNOTATION, type Descriptor, descriptorOf, isManifest, type Manifest, MEDIA, tagOf } from './descriptor.ts';
import type { Layout } from './layout.ts';
import type { Repository } from './registry.ts';

/**
 * Copies everything of a layout into a repository. A version is published last, after its signatures, and never replaced:
 * the push fails if its tag has other content.
 */
export async function push(layout: Layout, repository: Repository, version: string): Promise<void> {
  const tagged = await publishable(layout, repository, version);
  await pushContent(layout, repository, tagged);
  for (const each of layout.manifests.filter((other) => other !== tagged)) await pushListed(layout, repository, each);
  await pushManifest(layout, repository, tagged, version);
}

/**
 * Returns the manifest of a version in the layout. Throws if the layout has none, or if the repository already has the
 * version with other content.
 */
export async function publishable(layout: Layout, repository: Repository, version: string): Promise<Descriptor> {
  const published = await repository.readManifest(version);
  const tagged = layout.manifests.find((each) => tagFor(each) === version);
  if (!tagged) throw new Error(`there is nothing with the tag ${version}`);
  if (published && published.digest !== tagged.digest) {
    throw new Error(`version ${version} is already published with other content (${published.digest})`);
  }
  return tagged;
}

const tagFor = ({ annotations }: Descriptor): string | undefined => annotations?.[ANNOTATION.name];

/** Pushes a manifest under its digest, after everything to which it refers. */
async function pushContent(layout: Layout, repository: Repository, descriptor: Descriptor): Promise<boolean> {
  const { config, layers = [], manifests = [] } = layout.readManifest(descriptor);
  for (const each of [...manifests, ...layers, ...(config ? [config] : [])]) {
    if (isManifest(each)) await pushContent(layout, repository, each);
    else await repository.pushBlob(each, layout.pathOf(each));
  }
  return pushManifest(layout, repository, descriptor, descriptor.digest);
}

const pushManifest = (layout: Layout, repository: Repository, each: Descriptor, reference: string): Promise<boolean> =>
  repository.pushManifest(reference, each, layout.read(each));

/** Pushes what belongs to the release: signatures and statements, each under its tag or listed under its subject. */
async function pushListed(layout: Layout, repository: Repository, descriptor: Descriptor): Promise<void> {
  const isListed = await pushContent(layout, repository, descriptor);
  const tag = tagFor(descriptor);
  if (tag !== undefined) await pushManifest(layout, repository, descriptor, tag);
  const { subject, artifactType, annotations } = layout.readManifest(descriptor);
  if (subject && !isListed) {
    const { mediaType, digest, size } = descriptor;
    const listed = {
      mediaType,
      digest,
      size,
      ...(artifactType && { artifactType }),
      ...(annotations && { annotations }),
    };
    await listUnder(repository, subject, listed);
  }
}

/** For registries without the referrers API: an index under a tag that is made from the digest of the subject. */
async function listUnder(repository: Repository, subject: Descriptor, referrer: Descriptor): Promise<void> {
  const tag = tagOf(subject.digest);
  const before = (await repository.readManifest(tag))?.manifest.manifests ?? [];
  const manifests = [...before.filter(({ digest }) => digest !== referrer.digest), referrer];
  const index: Manifest = { schemaVersion: 2, mediaType: MEDIA.index, manifests };
  const content = Buffer.from(JSON.stringify(index));
  await repository.pushManifest(tag, descriptorOf(MEDIA.index, content), content);
}
