import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The folder above the code that contains package.json: the repository, or the folder of the bundled programs in the
 * image, which has the files that the programs read at the same paths.
 */
export const ROOT = folderOfPackage(import.meta.dirname);

/** Returns the absolute path of a file or folder that is read at run time, from its path in the repository. */
export function pathOf(path: string): string {
  return join(ROOT, path);
}

function folderOfPackage(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error(`there is no package.json above ${import.meta.dirname}`);
  return folderOfPackage(parent);
}
