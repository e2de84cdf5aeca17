import { createHash } from 'node:crypto';

/** What refers to a blob: its type, checksum and size. */
export type Descriptor = {
  mediaType: string;
  digest: string;
  size: number;
  artifactType?: string;
  platform?: { os: 'linux'; architecture: string };
  annotations?: Record<string, string>;
};

export const MEDIA = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  empty: 'application/vnd.oci.empty.v1+json',
} as const;

export const ANNOTATION = {
  created: 'org.opencontainers.image.created',
  description: 'org.opencontainers.image.description',
  name: 'org.opencontainers.image.ref.name',
  revision: 'org.opencontainers.image.revision',
  title: 'org.opencontainers.image.title',
  version: 'org.opencontainers.image.version',
} as const;

/** A manifest, as far as copying it needs to know: what it refers to. */
export type Manifest = {
  schemaVersion: 2;
  mediaType: string;
  artifactType?: string;
  config?: Descriptor;
  layers?: Descriptor[];
  manifests?: Descriptor[];
  subject?: Descriptor;
  annotations?: Record<string, string>;
};

export const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

export const digestOf = (content: Buffer | string): string => `sha256:${sha256(content)}`;

export function descriptorOf(mediaType: string, content: Buffer): Descriptor {
  return { mediaType, digest: digestOf(content), size: content.length };
}

export const isManifest = ({ mediaType }: Descriptor): boolean =>
  mediaType === MEDIA.index || mediaType === MEDIA.manifest;

/** The tag under which clients look for what belongs to a digest, where a registry cannot list it. */
export const tagOf = (digest: string): string => digest.replace(':', '-');
