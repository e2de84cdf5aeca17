import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ROOT } from '#kit/files.ts';

const PATIENCE_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

const component = z.looseObject({
  'bom-ref': z.string(),
  name: z.string(),
  version: z.string(),
  purl: z.string(),
  hashes: z.array(z.unknown()).optional(),
  licenses: z.array(z.unknown()).optional(),
});
const billShape = z.looseObject({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.string(),
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string(), name: z.string() }) }),
  components: z.array(component),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).default([]) })),
});
const lockShape = z.object({
  name: z.string(),
  packages: z.record(z.string(), z.object({ version: z.string(), dev: z.boolean().default(false) })),
});

export type Bill = z.output<typeof billShape>;
export type Lock = z.output<typeof lockShape>;

export const readBill = (text: string): Bill => billShape.parse(JSON.parse(text));
export const readLock = (text: string): Lock => lockShape.parse(JSON.parse(text));

/** `name@version` of every package except development dependencies. */
function productionPackages({ packages }: Lock): string[] {
  const named = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  return named.map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`);
}

/**
 * The bill of materials without development dependencies. npm's own option also omits packages that both production and
 * development need. npm names the project after its folder; this uses the name in the lockfile.
 */
export function forProduction(bill: Bill, lock: Lock): Bill {
  const wanted = new Set(productionPackages(lock));
  const components = bill.components.filter(({ name, version }) => wanted.has(`${name}@${version}`));
  const project = bill.metadata.component;
  const refs = new Set([project['bom-ref'], ...components.map((each) => each['bom-ref'])]);
  return {
    ...bill,
    metadata: { ...bill.metadata, component: { ...project, name: lock.name } },
    components,
    dependencies: bill.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map((each) => ({ ...each, dependsOn: each.dependsOn.filter((ref) => refs.has(ref)) })),
  };
}

/** Faults of a bill of materials: missing packages, and packages without checksum, licence or purl. */
export function faultsOf(bill: Bill, lock: Lock): string[] {
  const listed = new Set(bill.components.map(({ name, version }) => `${name}@${version}`));
  return [
    ...productionPackages(lock)
      .filter((name) => !listed.has(name))
      .map((name) => `${name} is missing`),
    ...bill.components.filter(({ hashes = [] }) => hashes.length === 0).map(({ name }) => `${name} has no checksum`),
    ...bill.components.filter(({ licenses = [] }) => licenses.length === 0).map(({ name }) => `${name} has no licence`),
    ...bill.components.filter(({ purl }) => !purl.startsWith('pkg:npm/')).map(({ name }) => `${name} has no purl`),
  ];
}

/** Asks npm for the bill of materials of the production packages of this repository. */
export function productionBill(): Bill {
  const command = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
  const run = spawnSync('npm', command, {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: PATIENCE_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  if (run.status !== 0) throw new Error(`npm sbom failed: ${run.stderr}`);
  return forProduction(readBill(run.stdout), repositoryLock());
}

const repositoryLock = (): Lock => readLock(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (!file) throw new Error('usage: sbom.ts FILE');
  const bill = productionBill();
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
  const faults = faultsOf(bill, repositoryLock());
  for (const fault of faults) console.log(fault);
  console.log(`${bill.components.length} packages in the CycloneDX ${bill.specVersion} bill of materials`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
