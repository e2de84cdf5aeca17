import { expect, test } from 'vitest';
import { SOURCES } from './sources.ts';

type Graph = ReadonlyMap<string, readonly string[]>;

/** All files that a file imports, directly or through other files. */
function reachableFrom(start: string, graph: Graph): Set<string> {
  const found = new Set<string>();
  const pending = [...(graph.get(start) ?? [])];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    pending.push(...(graph.get(file) ?? []));
  }
  return found;
}

/** The groups of files that import each other, directly or through other files, including type imports. */
function circularImports(graph: Graph): string[] {
  const reachable = new Map([...graph.keys()].map((file) => [file, reachableFrom(file, graph)]));
  const groups = [...reachable]
    .filter(([file, found]) => found.has(file))
    .map(([file, found]) =>
      [...found]
        .filter((other) => reachable.get(other)?.has(file))
        .toSorted()
        .join(' '),
    );
  return [...new Set(groups)].toSorted();
}

test('circular imports are found through other files, and each group once', () => {
  const graph = new Map([
    ['a', ['b']],
    ['b', ['c', 'package']],
    ['c', ['a', 'd']],
    ['d', []],
    ['e', ['e']],
  ]);
  expect(circularImports(graph)).toEqual(['a b c', 'e']);
});

test('no file imports itself through other files, not even for a type', () => {
  const graph = new Map(SOURCES.map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
  expect(circularImports(graph)).toEqual([]);
});
