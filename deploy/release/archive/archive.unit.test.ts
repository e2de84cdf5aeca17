import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readDeb } from './deb.ts';
import { complete, directory, type Entry, file, link } from './entry.ts';
import { tarOf } from './tar.ts';
import { readTar } from './untar.ts';

const MODIFIED = new Date('2026-03-01T12:00:00Z');
const LONG = `${'folder/'.repeat(20)}a-name-that-is-ä-long.txt`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'archive-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const entries = (): Entry[] =>
  complete([
    file('bin/program', 'binary', 0o755),
    file(LONG, 'long'),
    { ...file('data', Buffer.alloc(1000, 7)), uid: 1000, gid: 1000 },
    link('lib', 'usr/lib'),
    link('far', LONG),
    directory('tmp', 0o1777),
    file('empty', ''),
  ]);

test('an archive has the folders before their files, and reads as it was written', () => {
  const read = readTar(tarOf(entries(), MODIFIED));
  expect(read).toEqual(entries().map((each) => ({ uid: 0, gid: 0, ...each })));
  expect(read.map(({ path }) => path).slice(0, 3)).toEqual(['bin', 'bin/program', 'data']);
});

test('the same entries give the same bytes, and another time gives others', () => {
  expect(tarOf(entries(), MODIFIED).equals(tarOf(entries(), MODIFIED))).toBe(true);
  expect(tarOf(entries(), MODIFIED).equals(tarOf(entries(), new Date(0)))).toBe(false);
});

test('tar of the system unpacks the archive', () => {
  writeFileSync(join(folder, 'a.tar'), tarOf(entries(), MODIFIED));
  execFileSync('tar', ['-xf', 'a.tar', '--no-same-owner'], { cwd: folder });
  expect(readFileSync(join(folder, LONG), 'utf8')).toBe('long');
  expect(readFileSync(join(folder, 'far'), 'utf8')).toBe('long');
  expect(statSync(join(folder, 'bin/program')).mode & 0o777).toBe(0o755);
  expect(statSync(join(folder, 'data')).mtimeMs).toBe(MODIFIED.getTime());
  expect(execFileSync('tar', ['-tvf', 'a.tar', 'data'], { cwd: folder, encoding: 'utf8' })).toContain('1000/1000');
});

test.each(['gnu', 'pax', 'ustar'])('an archive of the system in the format %s is read', (format) => {
  // The format ustar has no room for a target of this length.
  const long = format === 'ustar' ? `${'folder/'.repeat(13)}${'n'.repeat(30)}` : LONG;
  mkdirSync(join(folder, 'in', long, '..'), { recursive: true });
  for (const path of [long, 'first']) writeFileSync(join(folder, 'in', path), path);
  linkSync(join(folder, 'in/first'), join(folder, 'in/same'));
  symlinkSync('same', join(folder, 'in/pointer'));
  const names = [long, 'first', 'same', 'pointer'];
  execFileSync('tar', ['-cf', '../a.tar', `--format=${format}`, ...names], { cwd: join(folder, 'in') });
  const read = readTar(readFileSync(join(folder, 'a.tar')));
  expect(read.map(({ path }) => path)).toEqual(names);
  expect(read.slice(0, 3).map((each) => each.type === 'file' && each.content.toString())).toEqual([
    long,
    'first',
    'first',
  ]);
  expect(read[3]).toMatchObject({ type: 'link', target: 'same' });
});

test('a path that leaves the archive, a device, and a truncated archive are rejected', () => {
  expect(() => readTar(tarOf([file('../etc/passwd', 'x')], MODIFIED))).toThrow('../etc/passwd leaves its archive');
  expect(() => readTar(tarOf([file('a', 'x'.repeat(2000))], MODIFIED).subarray(0, 1024))).toThrow('truncated');
  for (const size of ['zzzzzzzzzzz', '-0000001000', '']) {
    const broken = tarOf([file('a', 'x')], MODIFIED);
    broken.fill(0, 124, 136).write(size, 124);
    expect(() => readTar(broken)).toThrow('without a valid size');
  }
  const device = tarOf([file('device', '')], MODIFIED);
  device.write('3', 156);
  expect(() => readTar(device)).toThrow('device has the type 3');
});

test.each(['gzip', 'xz', 'zstd', 'none'])('a Debian package with %s is read', (compression) => {
  mkdirSync(join(folder, 'in/DEBIAN'), { recursive: true });
  mkdirSync(join(folder, 'in/usr/lib'), { recursive: true });
  const control =
    'Package: sample\nVersion: 1\nArchitecture: all\nMaintainer: A <a@example.org>\nDescription: sample\n';
  writeFileSync(join(folder, 'in/DEBIAN/control'), control);
  writeFileSync(join(folder, 'in/usr/lib/odd'), 'odd');
  execFileSync('dpkg-deb', ['--build', `-Z${compression}`, 'in', 'a.deb'], { cwd: folder });
  const deb = readDeb(readFileSync(join(folder, 'a.deb')));
  expect(deb.control).toBe(control);
  expect(deb.files.find(({ path }) => path === 'usr/lib/odd')).toMatchObject({
    type: 'file',
    content: Buffer.from('odd'),
  });
});

test('what is no Debian package is rejected', () => {
  expect(() => readDeb(Buffer.from('<html>'))).toThrow('not a Debian package');
});
