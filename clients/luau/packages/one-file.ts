import { formatLuau } from '../format.ts';
import { inOrderOfUse, type LinkedModule, type ModuleNode, withoutRequires } from './module-tree.ts';

/** The statement `export type` with the comment above it. Its further lines are indented or close a bracket. */
const EXPORTED_TYPE = /^(?:--- .*\n)*export type (\w+)(?:<[^>\n]*>)? =.*\n(?:(?:\t|[})>]).*\n)*/gm;

/**
 * Returns all modules as the source of one ModuleScript. Each module becomes a local variable, in an order in which
 * each is below what it uses. Types cannot be exported from within a function, so they stand next to it.
 */
export function bundle(root: ModuleNode): string {
  const modules = inOrderOfUse(root);
  const main = modules.at(-1) as LinkedModule;
  checkNames(modules);
  const parts = modules.map((module) => (module === main ? mainPart(module) : modulePart(module, exportedBy(main))));
  return formatLuau(['--!strict\n', ...parts].join('\n'));
}

function modulePart(module: LinkedModule, exported: ReadonlySet<string>): string {
  const { types, rest } = separateTypes(module);
  const hoisted = types.map(({ name, text }) => (exported.has(name) ? text : text.replace('export type', 'type')));
  const body = rest.replace(/^--!strict\n/, '').trimEnd();
  // A module that has only types returns an empty table, which nobody uses.
  if (/^(?:--.*\n|\s)*return \{\}$/.test(body)) return `${heading(module)}\n${hoisted.join('\n')}`;
  return `${heading(module)}\n${hoisted.join('\n')}\nlocal ${module.name} = (function()\n${body}\nend)()\n`;
}

function mainPart(module: LinkedModule): string {
  const text = withoutModuleNames(module, withoutRequires(module.source)).replace(/^--!strict\n/, '');
  return `${heading(module)}\n${text.replaceAll(/^export type (\w+) = \1\n/gm, '')}`;
}

const heading = ({ path, name }: LinkedModule) => `-- ${'-'.repeat(20)} ${name} (${path})\n`;

/** Returns the exported types of a module apart from the rest, without those that only repeat another module's type. */
function separateTypes(module: LinkedModule) {
  const source = withoutModuleNames(module, withoutRequires(module.source));
  const types = [...source.matchAll(EXPORTED_TYPE)]
    .map(([text, name = '']) => ({ name, text }))
    .filter(({ name, text }) => !text.includes(`export type ${name} = ${name}\n`));
  return { types, rest: source.replaceAll(EXPORTED_TYPE, '') };
}

/** Replaces `Module.Type` by `Type`, because all types are in one file. */
function withoutModuleNames({ requires }: LinkedModule, source: string): string {
  let text = source;
  for (const [variable, required] of requires) {
    for (const name of typeNames(required)) text = text.replaceAll(new RegExp(`\\b${variable}\\.${name}\\b`, 'g'), name);
  }
  return text;
}

const typeNames = ({ source }: LinkedModule): string[] =>
  [...source.matchAll(/^export type (\w+)/gm)].map(([, name = '']) => name);

const exportedBy = (main: LinkedModule): ReadonlySet<string> => new Set(typeNames(main));

/** All modules share the names of variables and types once they are in one file. */
function checkNames(modules: readonly LinkedModule[]): void {
  const names = modules.map(({ name }) => name);
  const types = modules.flatMap((module) => separateTypes(module).types.map(({ name }) => name));
  const repeated = [names, types].flatMap((list) => list.filter((name, index) => list.indexOf(name) !== index));
  if (repeated.length > 0) throw new Error(`these modules or exported types have the same name: ${repeated.join(', ')}`);
  for (const { path, requires, source } of modules) {
    for (const [variable, { name }] of requires) {
      if (variable !== name) throw new Error(`${path} requires ${name} as ${variable}: use the name of the module`);
    }
    if (/\bscript\b/.test(withoutRequires(source))) throw new Error(`${path} uses script: one file has no other modules`);
  }
}
