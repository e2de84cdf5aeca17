import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DebianPackage } from './lock.ts';

const PATIENCE_MS = 120_000;

/** A file that is known by its checksum, and the addresses from which it may come. */
type Download = {
  name: string;
  addresses: readonly string[];
  algorithm: 'sha256' | 'sha512';
  checksum: string;
  size: number;
};

/** Debian's mirror: `DEBIAN_MIRROR`, such as `http://mirror.example`, which has the folders `debian` and `debian-security`. */
export const mirror = (): string => (process.env['DEBIAN_MIRROR'] ?? 'https://deb.debian.org').replace(/\/+$/, '');

/** Debian's archive of all versions. */
export const SNAPSHOTS = 'https://snapshot.debian.org';

/** The mirrors keep a version until the next one replaces it; snapshot.debian.org keeps it for ever. */
export const debianAddresses = ({ archive, path }: DebianPackage, snapshot: string): string[] => [
  `${mirror()}/${archive}/${path}`,
  `${SNAPSHOTS}/archive/${archive}/${snapshot}/${path}`,
];

const isRight = (content: Buffer, { algorithm, checksum }: Pick<Download, 'algorithm' | 'checksum'>): boolean =>
  createHash(algorithm).update(content).digest('hex') === checksum;

/** Returns the file from the cache or from the first address that has it. Bytes with another checksum are never used. */
export async function download(wanted: Download, cached: string): Promise<Buffer> {
  if (existsSync(cached)) {
    const content = readFileSync(cached);
    if (isRight(content, wanted)) return content;
  }
  const reasons = [];
  for (const address of wanted.addresses) {
    try {
      const content = await fetchUpTo(wanted.size, address);
      if (isRight(content, wanted)) {
        store(cached, content);
        return content;
      }
      reasons.push(`${address} has another checksum`);
    } catch (error) {
      reasons.push(`${address}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(`could not download ${wanted.name}:\n${reasons.join('\n')}`);
}

/** Downloads at most so many bytes, and rejects a file that has more. */
export async function fetchUpTo(maxBytes: number, address: string): Promise<Buffer> {
  const response = await fetch(address, { signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Another run may write the same file at the same time. */
function store(path: string, content: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  const partial = `${path}.${process.pid}`;
  writeFileSync(partial, content);
  renameSync(partial, path);
}
