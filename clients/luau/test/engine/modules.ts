import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** A ModuleScript (with source) or a folder (without). */
export interface ModuleTree {
  name: string;
  source?: string;
  children?: ModuleTree[];
}

/** The tree that Rojo would make of a folder: `init.luau` is the folder's own source, other files are its children. */
export async function readModules(folder: string, name = basename(folder)): Promise<ModuleTree> {
  const tree: ModuleTree = { name, children: [] };
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) tree.children?.push(await readModules(path));
    else if (entry.name === 'init.luau') tree.source = await readFile(path, 'utf8');
    else if (entry.name.endsWith('.luau')) {
      tree.children?.push({ name: entry.name.slice(0, -'.luau'.length), source: await readFile(path, 'utf8') });
    }
  }
  return tree;
}

export interface ScriptNode {
  name: string;
  className: string;
  chunk?: number;
  children: ScriptNode[];
}

/** The tree as the VM needs it, and the sources in the order of their chunks. */
export function numberModules(modules: readonly ModuleTree[]): {
  root: ScriptNode;
  sources: { path: string; source: string }[];
} {
  const sources: { path: string; source: string }[] = [];
  const visit = (tree: ModuleTree, parent: string): ScriptNode => {
    const path = `${parent}.${tree.name}`;
    const node: ScriptNode = { name: tree.name, className: 'Folder', children: [] };
    if (tree.source !== undefined) {
      sources.push({ path, source: tree.source });
      node.className = 'ModuleScript';
      node.chunk = sources.length;
    }
    node.children = (tree.children ?? []).map((child) => visit(child, path));
    return node;
  };
  const name = 'ServerScriptService';
  const children = modules.map((tree) => visit(tree, name));
  return { root: { name, className: name, children }, sources };
}
