import { expect, test } from 'vitest';
import { faultsOf, forProduction, readBill, readLock } from './sbom.ts';

const lock = readLock(
  JSON.stringify({
    name: 'guild-data',
    packages: {
      '': { version: '1.0.0' },
      'node_modules/pg': { version: '8.0.0' },
      'node_modules/pg/node_modules/@a/b': { version: '1.2.3' },
      'node_modules/vitest': { version: '5.0.0', dev: true },
    },
  }),
);

const part = (name: string, version: string) => ({
  'bom-ref': `${name}@${version}`,
  name,
  version,
  purl: `pkg:npm/${name}@${version}`,
  hashes: [{}],
  licenses: [{}],
});
const bill = (...components: object[]) =>
  readBill(
    JSON.stringify({
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      metadata: { component: { 'bom-ref': 'guild-data@1.0.0', name: 'checkout' } },
      components,
      dependencies: [
        { ref: 'guild-data@1.0.0', dependsOn: ['pg@8.0.0', 'vitest@5.0.0'] },
        { ref: 'vitest@5.0.0', dependsOn: [] },
      ],
    }),
  );

test('the bill holds what runs in production, under the name of the project', () => {
  const made = forProduction(bill(part('pg', '8.0.0'), part('@a/b', '1.2.3'), part('vitest', '5.0.0')), lock);
  expect(made.components.map(({ name }) => name)).toEqual(['pg', '@a/b']);
  expect(made.metadata.component.name).toBe('guild-data');
  expect(made.dependencies).toEqual([{ ref: 'guild-data@1.0.0', dependsOn: ['pg@8.0.0'] }]);
  expect(faultsOf(made, lock)).toEqual([]);
});

test('a package that is missing or has no checksum, licence or purl is reported', () => {
  const bare = { ...part('pg', '8.0.0'), hashes: [], licenses: [], purl: 'pg' };
  const faults = ['@a/b@1.2.3 is missing', 'pg has no checksum', 'pg has no licence', 'pg has no purl'];
  expect(faultsOf(bill(bare), lock)).toEqual(faults);
  expect(faultsOf(bill(part('pg', '8.0.1'), part('@a/b', '1.2.3')), lock)).toEqual(['pg@8.0.0 is missing']);
});
