import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { complete, type Entry, file } from '../archive/entry.ts';

/** The files of the application, which are the same for every architecture, below the working directory of the image. */
export function applicationFiles(folder: string, workingDirectory: string): Entry[] {
  const root = workingDirectory.slice(1);
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => !each.isDirectory())
    .map((each) => join(each.parentPath, each.name));
  return complete(paths.map((path) => entryOf(path, `${root}/${relative(folder, path)}`)));
}

function entryOf(path: string, name: string): Entry {
  const isProgram = (statSync(path).mode & 0o100) !== 0;
  return file(name, readFileSync(path), isProgram ? 0o755 : 0o644);
}
