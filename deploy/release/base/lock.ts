import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** The architectures of the image, as Go and OCI name them, which is also what Debian calls them. */
export const ARCHITECTURES = ['amd64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** How Node and npm name an architecture. */
export const NODE_NAMES = { amd64: 'x64', arm64: 'arm64' } as const;

const packageShape = z.object({
  name: z.string(),
  version: z.string(),
  /** `all` for a package that is the same on every architecture. */
  architecture: z.enum([...ARCHITECTURES, 'all']),
  archive: z.enum(['debian', 'debian-security']),
  path: z.string().regex(/^pool\/[\w/.+~%-]+\.deb$/),
  /** In bytes. */
  size: z.int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const lockShape = z.object({
  /** When the packages were chosen. snapshot.debian.org has them under this time, after Debian's mirrors removed them. */
  snapshot: z.string().regex(/^\d{8}T\d{6}Z$/),
  packages: z.record(z.enum(ARCHITECTURES), z.array(packageShape)),
});

export type DebianPackage = z.output<typeof packageShape>;
export type DebianLock = z.output<typeof lockShape>;

export const LOCK_FILE = join(import.meta.dirname, 'debian.lock.json');

export const readDebianLock = (): DebianLock => lockShape.parse(JSON.parse(readFileSync(LOCK_FILE, 'utf8')));

/** The time of all files of the base layer, so that releases with the same packages share it. */
export function snapshotTime({ snapshot }: DebianLock): Date {
  const [, year, month, day, hour, minute, second] = /^(....)(..)(..)T(..)(..)(..)Z$/.exec(snapshot) ?? [];
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}
