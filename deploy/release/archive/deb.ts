import { spawnSync } from 'node:child_process';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { Entry } from './entry.ts';
import { readTar } from './untar.ts';

const MAGIC = '!<arch>\n';
const HEADER = 60;
const MAX_BYTES = 512 * 1024 * 1024;

/** A Debian package: its files, and the text that describes it. */
export type Deb = { files: Entry[]; control: string };

export function readDeb(archive: Buffer): Deb {
  const members = readAr(archive);
  const control = member(members, 'control.tar').find(({ path }) => path === 'control');
  if (control?.type !== 'file') throw new Error('the package has no control file');
  return { files: member(members, 'data.tar'), control: control.content.toString() };
}

function readAr(archive: Buffer): Map<string, Buffer> {
  if (archive.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new Error('not a Debian package');
  const members = new Map<string, Buffer>();
  for (let at = MAGIC.length; at + HEADER <= archive.length; ) {
    const name = archive
      .toString('latin1', at, at + 16)
      .trim()
      .replace(/\/$/, '');
    const size = Number(archive.toString('latin1', at + 48, at + 58));
    members.set(name, archive.subarray(at + HEADER, at + HEADER + size));
    at += HEADER + size + (size % 2);
  }
  return members;
}

function member(members: Map<string, Buffer>, name: string): Entry[] {
  const found = [...members].find(([each]) => each.startsWith(name));
  if (!found) throw new Error(`the package has no ${name}`);
  const [full, content] = found;
  return readTar(decompress(content, full.slice(name.length)));
}

/** Node has no xz: the program of that name is part of every Debian with a compiler, and of the images of Node. */
export function decompress(content: Buffer, ending: string): Buffer {
  if (ending === '') return content;
  if (ending === '.gz') return gunzipSync(content);
  if (ending === '.zst') return zstdDecompressSync(content);
  if (ending !== '.xz') throw new Error(`no program decompresses ${ending}`);
  const { status, stdout, stderr, error } = spawnSync('xz', ['-dc'], { input: content, maxBuffer: MAX_BYTES });
  if (error) throw new Error('the program xz is missing (Debian: apt-get install xz-utils)', { cause: error });
  if (status !== 0) throw new Error(`xz failed: ${stderr.toString()}`);
  return stdout;
}
