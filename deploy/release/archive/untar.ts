import type { Entry } from './entry.ts';
import { BLOCK } from './tar.ts';

/** Names for the next entry, from a record before it. */
type Names = { path?: string; linkpath?: string };

/** Reads a tar archive: ustar, pax, and the long names of GNU tar. A hard link becomes a copy of its file. */
export function readTar(archive: Buffer): Entry[] {
  const entries = new Map<string, Entry>();
  let names: Names = {};
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const block = archive.subarray(at, at + BLOCK);
    const size = Number.parseInt(text(block, 124, 12), 8);
    if (!Number.isSafeInteger(size) || size < 0) throw new Error('the tar archive has an entry without a valid size');
    const content = archive.subarray(at + BLOCK, at + BLOCK + size);
    if (content.length < size) throw new Error('the tar archive is truncated');
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const kind = text(block, 156, 1);
    if (kind === 'x') names = { ...names, ...paxNames(content) };
    else if (kind === 'L') names.path = text(content, 0, size);
    else if (kind === 'K') names.linkpath = text(content, 0, size);
    else if (kind !== 'g') {
      const entry = entryOf(block, kind, content, names, entries);
      if (entry.path !== '') entries.set(entry.path, entry);
      names = {};
    }
  }
  return [...entries.values()];
}

function entryOf(block: Buffer, kind: string, content: Buffer, names: Names, before: Map<string, Entry>): Entry {
  const prefix = text(block, 345, 155);
  const name = text(block, 0, 100);
  const path = clean(names.path ?? (prefix && text(block, 257, 6) === 'ustar' ? `${prefix}/${name}` : name));
  const target = names.linkpath ?? text(block, 157, 100);
  const mode = Number.parseInt(text(block, 100, 8), 8);
  const uid = Number.parseInt(text(block, 108, 8), 8);
  const gid = Number.parseInt(text(block, 116, 8), 8);
  if (kind === '0' || kind === '') return { path, mode, uid, gid, type: 'file', content };
  if (kind === '5') return { path, mode, uid, gid, type: 'directory' };
  if (kind === '2') return { path, mode, uid, gid, type: 'link', target };
  const original = kind === '1' ? before.get(clean(target)) : undefined;
  if (original === undefined) throw new Error(`${path} has the type ${kind}, which is not supported`);
  return { ...original, path };
}

/** Rejects what would leave the folder into which the archive is unpacked. */
function clean(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw new Error(`${path} leaves its archive`);
  return parts.join('/');
}

function text(block: Buffer, start: number, length: number): string {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? field.length : end).trim();
}

function paxNames(content: Buffer): Names {
  const names: Names = {};
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(' ', at);
    const length = Number(content.toString('latin1', at, space));
    if (!(length > 0)) throw new Error('the tar archive has a malformed pax record');
    const [key, value] = content.toString('utf8', space + 1, at + length - 1).split(/=(.*)/s);
    if (key === 'path' || key === 'linkpath') names[key] = value ?? '';
    at += length;
  }
  return names;
}
