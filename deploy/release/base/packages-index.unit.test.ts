import { expect, test } from 'vitest';
import { ARCHITECTURES, readDebianLock, snapshotTime } from './lock.ts';
import { checkRelease, listedChecksum, named } from './packages-index.ts';

const INDEX = `Package: libc6
Architecture: amd64
Version: 2.41-12
Description: C library
 more
 .
 and more
Filename: pool/main/g/glibc/libc6_2.41-12_amd64.deb
Size: 2847632
SHA256: ${'a'.repeat(64)}

Package: libc6-dev
Architecture: amd64
Version: 2.41-12
`;

test('a package is found by its exact name', () => {
  expect(named(INDEX, ['libc6'], 'debian')).toEqual([
    {
      name: 'libc6',
      version: '2.41-12',
      architecture: 'amd64',
      archive: 'debian',
      path: 'pool/main/g/glibc/libc6_2.41-12_amd64.deb',
      size: 2_847_632,
      sha256: 'a'.repeat(64),
    },
  ]);
});

test('the checksum of an index is that of the section SHA256', () => {
  const release =
    'MD5Sum:\n 11 5 main/Packages.xz\nSHA256:\n 22 5 other/main/Packages.xz\n 33 5 main/Packages.xz\nEnd: x\n';
  expect(listedChecksum(release, 'main/Packages.xz')).toBe('33');
  expect(() => listedChecksum(release, 'contrib/Packages.xz')).toThrow('lists no contrib/Packages.xz');
});

test('a Release file of another suite, or one that has expired, is rejected', () => {
  const release = (until: string) =>
    `Origin: Debian\nSuite: stable-security\nCodename: trixie-security\n${until}SHA256:\n 1 5 main/Packages.xz\n`;
  const now = new Date('2026-11-20T00:00:00Z');
  const current = release('Valid-Until: Sat, 21 Nov 2026 00:00:00 UTC\n');
  expect(() => checkRelease(current, 'trixie-security', now)).not.toThrow();
  expect(() => checkRelease(release(''), 'stable-security', now)).not.toThrow();
  expect(() => checkRelease(current, 'trixie', now)).toThrow('the Release file of trixie is that of trixie-security');
  const expired = release('Valid-Until: Thu, 19 Nov 2026 00:00:00 UTC\n');
  expect(() => checkRelease(expired, 'trixie-security', now)).toThrow('was valid until Thu, 19 Nov 2026');
});

test('the lock file has the same packages and versions for every architecture, and no address', () => {
  const lock = readDebianLock();
  const [amd64, arm64] = ARCHITECTURES.map((each) =>
    lock.packages[each].map(({ name, version }) => ({ name, version })),
  );
  expect(arm64).toEqual(amd64);
  expect(amd64?.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['libc6', 'libstdc++6', 'ca-certificates', 'tzdata']),
  );
  expect(JSON.stringify(lock)).not.toContain('://');
  expect(
    snapshotTime(lock)
      .toISOString()
      .replaceAll(/[-:]|\.000/g, ''),
  ).toBe(lock.snapshot);
});
