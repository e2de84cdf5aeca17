/** What a tar archive has under one path. The path is relative, without `./` and without a slash at its end. */
export type Entry = { path: string; mode: number; uid?: number; gid?: number } & (
  | { type: 'file'; content: Buffer }
  | { type: 'directory' }
  | { type: 'link'; target: string }
);

export const directory = (path: string, mode = 0o755): Entry => ({ path, mode, type: 'directory' });

export const file = (path: string, content: Buffer | string, mode = 0o644): Entry => ({
  path,
  mode,
  type: 'file',
  content: Buffer.from(content),
});

export const link = (path: string, target: string): Entry => ({ path, mode: 0o777, type: 'link', target });

/** Sorts by path, so that each folder comes before what it contains, and adds the folders that have no entry. */
export function complete(entries: readonly Entry[]): Entry[] {
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end);
      if (!byPath.has(parent)) byPath.set(parent, directory(parent));
    }
  }
  return [...byPath.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
