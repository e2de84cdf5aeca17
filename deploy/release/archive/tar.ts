import type { Entry } from './entry.ts';

export const BLOCK = 512;
const KINDS = { file: '0', link: '2', directory: '5' } as const;
const MAX_NAME = 100;

/** Yields the bytes of a tar archive. The same entries in the same order give the same bytes. */
export function* writeTar(entries: Iterable<Entry>, modified: Date): Generator<Buffer> {
  const seconds = Math.floor(modified.getTime() / 1000);
  for (const entry of entries) {
    const name = entry.type === 'directory' ? `${entry.path}/` : entry.path;
    const target = entry.type === 'link' ? entry.target : '';
    const content = entry.type === 'file' ? entry.content : Buffer.alloc(0);
    yield* longNames(name, target, seconds);
    const { mode, uid = 0, gid = 0 } = entry;
    yield header({ name, target, mode, uid, gid, size: content.length, seconds, kind: KINDS[entry.type] });
    yield content;
    yield padding(content.length);
  }
  yield Buffer.alloc(2 * BLOCK);
}

export const tarOf = (entries: Iterable<Entry>, modified: Date): Buffer =>
  Buffer.concat([...writeTar(entries, modified)]);

type Header = {
  name: string;
  target: string;
  mode: number;
  uid: number;
  gid: number;
  size: number;
  seconds: number;
  kind: string;
};

/** A header of the format ustar (POSIX.1-1988). */
function header({ name, target, mode, uid, gid, size, seconds, kind }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(cut(name), 0, 'latin1');
  block.write(octal(mode, 7), 100);
  block.write(octal(uid, 7), 108);
  block.write(octal(gid, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(seconds, 11), 136);
  block.write(' '.repeat(8), 148);
  block.write(kind, 156);
  block.write(cut(target), 157, 'latin1');
  block.write('ustar\u000000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\u0000 `, 148, 'latin1');
  return block;
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

const cut = (name: string): string => Buffer.from(name).subarray(0, MAX_NAME).toString('latin1');

const padding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/** Names that do not fit into the header go into a record of the format pax (POSIX.1-2001) before it. */
function* longNames(name: string, target: string, seconds: number): Generator<Buffer> {
  const records = [
    ...(Buffer.byteLength(name) > MAX_NAME ? [paxRecord('path', name)] : []),
    ...(Buffer.byteLength(target) > MAX_NAME ? [paxRecord('linkpath', target)] : []),
  ].join('');
  if (records === '') return;
  const content = Buffer.from(records);
  const size = content.length;
  yield header({ name: 'pax', target: '', mode: 0o644, uid: 0, gid: 0, size, seconds, kind: 'x' });
  yield content;
  yield padding(size);
}

/** `LENGTH KEY=VALUE`, where the length includes itself. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = Buffer.byteLength(rest);
  const total = length + String(length + String(length).length).length;
  return `${total}${rest}`;
}
