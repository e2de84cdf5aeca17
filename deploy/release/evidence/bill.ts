import { createHash } from 'node:crypto';
import type { Bill } from '../../supply-chain/sbom.ts';
import { ARCHITECTURES, type DebianLock } from '../base/lock.ts';
import type { NodePackage } from '../base/node.ts';
import type { Origin } from '../image/image.ts';
import { debianUrl } from './provenance.ts';

type Component = Bill['components'][number];

type Contents = { debian: DebianLock; node: Pick<NodePackage, 'version'>; npm: readonly string[] };

/**
 * The bill of materials of the image: the npm packages in it (`name@version`), Node, and Debian's packages. It has no random
 * number, and the time of the release, so that the same release has the same bill.
 */
export function imageBill(bill: Bill, { npm, node, debian }: Contents, { version, committed }: Origin): Buffer {
  const packages = bill.components.filter((each) => npm.includes(`${each.name}@${each.version}`));
  const known = packages.map((each) => `${each.name}@${each.version}`);
  const missing = npm.filter((each) => !known.includes(each));
  if (missing.length > 0) throw new Error(`the bill of materials has no ${missing.join(', ')}`);
  const added = [nodeComponent(node.version), ...debianComponents(debian)];
  const project = { ...bill.metadata.component, version };
  const refs = new Set([project['bom-ref'], ...packages.map((each) => each['bom-ref'])]);
  const content = {
    ...bill,
    metadata: { timestamp: committed.toISOString(), component: project },
    components: [...packages, ...added],
    dependencies: bill.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map((each) => ({
        ...each,
        dependsOn: [
          ...each.dependsOn.filter((ref) => refs.has(ref)),
          ...(each.ref === project['bom-ref'] ? added.map((other) => other['bom-ref']) : []),
        ],
      })),
  };
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify({ ...content, serialNumber: '' }))}`;
  return Buffer.from(`${JSON.stringify({ ...content, serialNumber }, null, 2)}\n`);
}

const nodeComponent = (version: string): Component & { type: string; cpe: string } => ({
  'bom-ref': `node@${version}`,
  type: 'platform',
  name: 'node',
  version,
  purl: `pkg:generic/node@${version}`,
  // Vulnerabilities of Node are published under this name.
  cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
});

function debianComponents({ packages }: DebianLock): Component[] {
  const all = ARCHITECTURES.flatMap((architecture) => packages[architecture]);
  const components = all.map((each) => ({
    'bom-ref': debianUrl(each),
    type: 'library',
    name: each.name,
    version: each.version,
    purl: debianUrl(each),
    hashes: [{ alg: 'SHA-256', content: each.sha256 }],
  }));
  return [...new Map(components.map((each) => [each['bom-ref'], each])).values()];
}

/** A UUID that is made from the content, as version 8 of RFC 9562 permits. */
function uuidOf(content: string): string {
  const bytes = createHash('sha256').update(content).digest().subarray(0, 16);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(6) & 0x0f), 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
