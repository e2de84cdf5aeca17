import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Builds and packs the client, and unpacks it below `folder` as an installed package. Returns the path of the package's
 * archive.
 */
export function unpackClient(folder: string): string {
  const options = { cwd: import.meta.dirname, encoding: 'utf8' as const };
  const tsc = join(import.meta.dirname, '../../node_modules/.bin/tsc');
  execFileSync(tsc, ['-p', 'tsconfig.json'], options);
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const printed = execFileSync('npm', pack, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const target = join(folder, 'node_modules/@guild-data/client');
  mkdirSync(target, { recursive: true });
  const [packed] = JSON.parse(printed) as { filename: string }[];
  const archive = join(folder, packed?.filename ?? '');
  execFileSync('tar', ['-xzf', archive, '-C', target, '--strip-components=1']);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }\n');
  return archive;
}
