// `node deploy/bundle/app.ts FOLDER`: writes what the image has in its working directory.

import { cpSync, globSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathOf } from '#kit/files.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { buildApp } from '../../services/console/build.ts';
import { bundlePrograms } from './bundle.ts';
import { licenceText } from './licences.ts';

/** The files that programs find with `pathOf` when they run. They have the same paths in the image. */
const READ_AT_RUN_TIME = [
  'CHANGELOG.md',
  'deploy/local/simulators/demo-world.json',
  'gateway/docs/examples/*/*',
  'gateway/docs/guides/*.md',
  'gateway/docs/style.css',
  'node_modules/@grpc/reflection/build/proto/grpc/**/*.proto',
  'proto/gen/descriptors.binpb',
  'services/*/migrations/*.sql',
  'services/kit/limits/*.lua',
  'services/platforms/budget/*.lua',
];

/** Packages of the console's browser app, which are in no bundle of a program. */
const BROWSER_PACKAGES = ['node_modules/preact', 'node_modules/preact-iso'];

/**
 * Writes the working directory of the image into a folder: one bundled file for each program with its source map, the
 * files that programs read, the console's app, and the licences of the packages in the bundles. The folder must be
 * empty or missing. The same sources give the same bytes. Returns the folders of the packages, below the repository.
 */
export async function writeApp(folder: string): Promise<string[]> {
  const { files, packages: inPrograms } = await bundlePrograms();
  const packages = [...inPrograms, ...BROWSER_PACKAGES].sort();
  mkdirSync(folder, { recursive: true });
  for (const [path, content] of files) writeFileSync(join(folder, path), content);
  for (const path of globSync(READ_AT_RUN_TIME, { cwd: pathOf('.') })) cpSync(pathOf(path), join(folder, path));
  await buildApp(join(folder, 'services', 'console', 'dist'));
  writeFileSync(join(folder, 'THIRD-PARTY-LICENCES.txt'), licenceText(packages));
  // Programs find their files by the folder of package.json, and Node reads from it that they are ES modules.
  const { name, version, type } = packageJson;
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ name, version, private: true, type }, null, 2)}\n`);
  return packages;
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (!folder) throw new Error('usage: app.ts FOLDER');
  await writeApp(folder);
}
