import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Entry } from '../archive/entry.ts';
import { tarOf } from '../archive/tar.ts';
import { ARCHITECTURES, type Architecture } from '../base/lock.ts';
import { ANNOTATION, type Descriptor, digestOf, MEDIA } from '../oci/descriptor.ts';
import type { Layout } from '../oci/layout.ts';
import type { ImageSettings } from './settings.ts';

const compress = promisify(gzip);

/** A layer: what it adds, for the history of the image, and the time of its files. */
export type Layer = { comment: string; modified: Date; entries: Entry[] };

/** The release from which an image is made. */
export type Origin = { version: string; commit: string; committed: Date };

type Image = {
  settings: ImageSettings;
  origin: Origin;
  layersOf: (architecture: Architecture) => Layer[] | Promise<Layer[]>;
};

type PackedLayer = { descriptor: Descriptor; diffId: string; comment: string; modified: Date };

/** Adds the image for every architecture, and the index that clients use to choose one, under the tag of the version. */
export async function addImage(layout: Layout, image: Image): Promise<Descriptor> {
  const manifests: Descriptor[] = [];
  for (const architecture of ARCHITECTURES) manifests.push(await addForArchitecture(layout, image, architecture));
  const { version } = image.origin;
  return layout.addManifest(
    { schemaVersion: 2, mediaType: MEDIA.index, manifests, annotations: notes(image.origin) },
    version,
  );
}

async function addForArchitecture(layout: Layout, image: Image, architecture: Architecture): Promise<Descriptor> {
  const { settings, origin, layersOf } = image;
  const layers: PackedLayer[] = [];
  for (const layer of await layersOf(architecture)) layers.push(await pack(layout, layer));
  const config = layout.addJson(MEDIA.config, {
    created: origin.committed.toISOString(),
    architecture,
    os: 'linux',
    config: { ...settings, Labels: notes(origin) },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ comment, modified }) => ({ created: modified.toISOString(), comment })),
  });
  const manifest = layout.addJson(MEDIA.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config,
    layers: layers.map(({ descriptor }) => descriptor),
    annotations: notes(origin),
  });
  return { ...manifest, platform: { os: 'linux', architecture } };
}

async function pack(layout: Layout, { entries, comment, modified }: Layer): Promise<PackedLayer> {
  const archive = tarOf(entries, modified);
  const descriptor = layout.add(MEDIA.layer, await compress(archive));
  return { descriptor, diffId: digestOf(archive), comment, modified };
}

/** Describes the release; every artefact has it. */
export const notes = ({ version, commit, committed }: Origin): Record<string, string> => ({
  [ANNOTATION.created]: committed.toISOString(),
  [ANNOTATION.revision]: commit,
  [ANNOTATION.title]: 'guild-data',
  [ANNOTATION.version]: version,
});
