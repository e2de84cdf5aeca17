import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { sha256 } from '../oci/descriptor.ts';

/** The checksums of files by name, in the format that `sha256sum --check` reads. */
export const checksumsOf = (files: Iterable<readonly [string, Buffer]>): string =>
  [...files].map(([name, content]) => `${sha256(content)}  ${name}\n`).join('');

/** The checksums of all files in a folder. */
export function checksumsIn(folder: string): string {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => relative(folder, join(each.parentPath, each.name)))
    .toSorted();
  return paths.map((path) => checksumsOf([[path, readFileSync(join(folder, path))]])).join('');
}
