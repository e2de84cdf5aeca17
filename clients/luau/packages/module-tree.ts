import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A ModuleScript: a file `X.luau`, or a folder `X` with `init.luau`. A folder without that file is no module. */
export interface ModuleNode {
  name: string;
  /** Path of the file from the root of the tree; undefined for a folder that is no module. */
  path: string | undefined;
  source: string;
  children: ModuleNode[];
}

const INIT = 'init.luau';

/** Reads a folder as Rojo does. */
export function readModuleTree(folder: string, name: string, root: string = folder): ModuleNode {
  const entries = readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const children = entries.flatMap((entry): ModuleNode[] => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return [readModuleTree(path, entry.name, root)];
    if (entry.name === INIT || !entry.name.endsWith('.luau')) return [];
    return [{ name: entry.name.slice(0, -'.luau'.length), ...read(path, root), children: [] }];
  });
  const isModule = entries.some((entry) => entry.name === INIT);
  return { name, ...(isModule ? read(join(folder, INIT), root) : { path: undefined, source: '' }), children };
}

const read = (path: string, root: string) => ({
  path: relative(root, path),
  source: readFileSync(path, 'utf8'),
});

/** A module with the modules that it requires, by the names of its variables. */
export interface LinkedModule extends ModuleNode {
  requires: Map<string, LinkedModule>;
}

const REQUIRE = /^local (\w+) = require\((script[\w.]*)\)\n/gm;

/** Returns the modules of a tree, each after those that it requires. Throws if a required module does not exist. */
export function inOrderOfUse(root: ModuleNode): LinkedModule[] {
  const parents = new Map<ModuleNode, ModuleNode>();
  const remember = (node: ModuleNode) => {
    for (const child of node.children) {
      parents.set(child, node);
      remember(child);
    }
  };
  remember(root);

  const find = (from: ModuleNode, path: string): ModuleNode => {
    let node: ModuleNode | undefined = from;
    for (const part of path.split('.').slice(1)) {
      node = part === 'Parent' ? node && parents.get(node) : node?.children.find(({ name }) => name === part);
    }
    if (!node?.path) throw new Error(`${from.path} requires ${path}, which does not exist`);
    return node;
  };

  const linked = new Map<ModuleNode, LinkedModule>();
  const link = (node: ModuleNode): LinkedModule => {
    const known = linked.get(node);
    if (known) return known;
    const requires = new Map<string, LinkedModule>();
    for (const [, variable = '', path = ''] of node.source.matchAll(REQUIRE))
      requires.set(variable, link(find(node, path)));
    const result = { ...node, requires };
    linked.set(node, result);
    return result;
  };
  link(root);
  return [...linked.values()];
}

/** Removes the lines that require other modules. */
export const withoutRequires = (source: string): string => source.replaceAll(REQUIRE, '');
