import { expect, test } from 'vitest';
import { directory, file, link } from '../archive/entry.ts';
import { rootFiles } from './root.ts';

const facts = {
  name: 'sample',
  version: '1',
  architecture: 'amd64',
  archive: 'debian',
  path: 'pool/main/s/sample/sample_1_amd64.deb',
  size: 1,
  sha256: 'a'.repeat(64),
} as const;

const certificates = Array.from({ length: 60 }, (_, index) =>
  file(`usr/share/ca-certificates/mozilla/${String(index).padStart(2, '0')}.crt`, `certificate ${index}\n\n`),
);

const root = (...files: Parameters<typeof file>[]) =>
  new Map(
    rootFiles([
      { facts, deb: { control: 'Package: sample\n', files: [...certificates, ...files.map((each) => file(...each))] } },
    ]).map((each) => [each.path, each]),
  );

test('libraries below /lib are placed below /usr, to which /lib and /bin link', () => {
  const files = root(['lib/x86_64-linux-gnu/libc.so.6', 'c'], ['lib64/ld.so', 'ld']);
  expect(files.get('usr/lib/x86_64-linux-gnu/libc.so.6')).toMatchObject({ type: 'file' });
  expect(files.get('usr/lib64/ld.so')).toMatchObject({ type: 'file' });
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) expect(files.get(name)).toEqual(link(name, `usr/${name}`));
  expect(files.get('usr/lib64')).toMatchObject({ type: 'directory' });
});

test('licences stay; programs, manuals and settings of package managers do not', () => {
  const kept = ['usr/share/doc/sample/copyright', 'usr/share/common-licenses/GPL-3', 'etc/os-release'];
  const dropped = [
    'usr/share/doc/sample/changelog.gz',
    'usr/share/man/man1/a.1',
    'usr/bin/a',
    'usr/sbin/b',
    'etc/apt/c',
  ];
  const files = root(...[...kept, ...dropped].map((path) => [path, 'x'] as [string, string]));
  expect([...kept, ...dropped].filter((path) => files.has(path))).toEqual(kept);
});

test('all certificates are in one file, and everybody may write to /tmp', () => {
  const files = root();
  const bundle = files.get('etc/ssl/certs/ca-certificates.crt');
  expect(bundle?.type === 'file' && bundle.content.toString()).toMatch(
    /^certificate 0\ncertificate 1\n.*certificate 59\n$/s,
  );
  expect(files.get('tmp')).toEqual(directory('tmp', 0o1777));
  expect(() => rootFiles([{ facts, deb: { control: '', files: [] } }])).toThrow('only 0 certificates');
});

test('a scanner finds each package', () => {
  expect(root().get('var/lib/dpkg/status.d/sample')).toEqual(file('var/lib/dpkg/status.d/sample', 'Package: sample\n'));
});
