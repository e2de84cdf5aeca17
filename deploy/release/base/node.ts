import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { complete, type Entry, file } from '../archive/entry.ts';
import { readTar } from '../archive/untar.ts';
import { type Architecture, NODE_NAMES } from './lock.ts';

const PATIENCE_MS = 300_000;

const lockShape = z.object({
  packages: z.record(z.string(), z.looseObject({ version: z.string().optional(), integrity: z.string().optional() })),
});

/** The npm package that contains Node for an architecture, as package-lock.json pins it. */
export type NodePackage = { name: string; version: string; integrity: string };

export function nodePackage(repository: string, architecture: Architecture): NodePackage {
  const { packages } = lockShape.parse(JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')));
  const name = `node-linux-${NODE_NAMES[architecture]}`;
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (!version || !integrity) throw new Error(`package-lock.json does not pin ${name}`);
  return { name, version, integrity };
}

/** The SHA-512 of the package in hexadecimal digits. */
export function checksumOf({ integrity, name }: NodePackage): string {
  const [algorithm, digest = ''] = integrity.split('-');
  if (algorithm !== 'sha512') throw new Error(`package-lock.json has no SHA-512 for ${name}`);
  return Buffer.from(digest, 'base64').toString('hex');
}

/** The program and its licence, as the package has them. */
export function nodeFiles(wanted: NodePackage, cache: string): Entry[] {
  const entries = readTar(gunzipSync(fetched(wanted, cache)));
  const content = (path: string): Buffer => {
    const entry = entries.find((each) => each.path === `package/${path}`);
    if (entry?.type !== 'file') throw new Error(`${wanted.name} has no ${path}`);
    return entry.content;
  };
  return complete([
    file('usr/local/bin/node', content('bin/node'), 0o755),
    file('usr/share/doc/node/copyright', content('LICENSE')),
  ]);
}

/** npm downloads it, because npm knows the registry that this machine uses. */
function fetched(wanted: NodePackage, cache: string): Buffer {
  mkdirSync(cache, { recursive: true });
  const path = join(cache, `${wanted.name}-${wanted.version}.tgz`);
  if (!existsSync(path) || !isRight(readFileSync(path), wanted)) pack(wanted, cache);
  const content = readFileSync(path);
  if (!isRight(content, wanted)) throw new Error(`${wanted.name} has another checksum than in package-lock.json`);
  return content;
}

const isRight = (content: Buffer, wanted: NodePackage): boolean =>
  createHash('sha512').update(content).digest('hex') === checksumOf(wanted);

function pack({ name, version }: NodePackage, folder: string): void {
  const command = ['pack', '--silent', '--pack-destination', folder, `${name}@${version}`];
  const { status, stderr } = spawnSync('npm', command, { encoding: 'utf8', timeout: PATIENCE_MS });
  if (status !== 0) throw new Error(`npm could not download ${name}: ${stderr}`);
}
