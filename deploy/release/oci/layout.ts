import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ANNOTATION, type Descriptor, descriptorOf, type Manifest, MEDIA } from './descriptor.ts';

/** A repository of a registry as a folder: the OCI image layout, which skopeo, oras, crane and containerd read. */
export class Layout {
  readonly folder: string;
  private readonly listed: Descriptor[] = [];

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(join(folder, 'blobs', 'sha256'), { recursive: true });
    writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}\n');
    this.writeIndex();
  }

  pathOf({ digest }: Pick<Descriptor, 'digest'>): string {
    return join(this.folder, 'blobs', ...digest.split(':'));
  }

  add(mediaType: string, content: Buffer): Descriptor {
    const descriptor = descriptorOf(mediaType, content);
    const path = this.pathOf(descriptor);
    if (!existsSync(path)) writeFileSync(path, content);
    return descriptor;
  }

  addJson(mediaType: string, value: unknown): Descriptor {
    return this.add(mediaType, Buffer.from(JSON.stringify(value)));
  }

  /** Adds a manifest and lists it: under a tag, or without one if other manifests or clients refer to its digest. */
  addManifest(manifest: Manifest, tag?: string): Descriptor {
    const descriptor = this.addJson(manifest.mediaType, manifest);
    this.listed.push({
      ...descriptor,
      ...(manifest.artifactType && { artifactType: manifest.artifactType }),
      ...(tag && { annotations: { [ANNOTATION.name]: tag } }),
    });
    this.writeIndex();
    return descriptor;
  }

  /** The manifests that have a tag or a subject. */
  get manifests(): readonly Descriptor[] {
    return this.listed;
  }

  read(descriptor: Pick<Descriptor, 'digest'>): Buffer {
    return readFileSync(this.pathOf(descriptor));
  }

  readManifest(descriptor: Pick<Descriptor, 'digest'>): Manifest {
    return JSON.parse(this.read(descriptor).toString()) as Manifest;
  }

  private writeIndex(): void {
    const index: Manifest = { schemaVersion: 2, mediaType: MEDIA.index, manifests: this.listed };
    writeFileSync(join(this.folder, 'index.json'), `${JSON.stringify(index, null, 2)}\n`);
  }
}
