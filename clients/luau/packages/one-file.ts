import { formatLuau } from '../format.ts';
import { inOrderOfUse, type LinkedModule, type ModuleNode, withoutRequires } from './module-tree.ts';

/** A statement `type` at the top of a module, with the comment above it. Its further lines are indented or close a bracket. */
const TYPE = /^(?:--- .*\n)*(export )?type (\w+)(?:<[^>\n]*>)? =.*\n(?:(?:\t|[})>]).*\n)*/gm;

/** The names of the types of each module in the one file. */
type TypeNames = Map<LinkedModule, Map<string, string>>;

/** Studio accepts no script with more characters. */
export const MAX_CHARACTERS = 199_999;

/** The modules that a plugin sees, whose comments stay. Without the others the file is short enough. */
const DOCUMENTED = new Set(['Call', 'Types', 'GuildData']);

const NOTE = '-- Made from the modules in clients/luau/src, which have more comments.\n';

/**
 * Returns all modules as the source of one ModuleScript. Each module becomes a local variable, in an order in which
 * each is below what it uses. Its types stand next to it, because types are visible only in the block that has them.
 */
export function bundle(root: ModuleNode): string {
  const modules = inOrderOfUse(root);
  checkNames(modules);
  const main = modules.at(-1) as LinkedModule;
  const types = typeNamesOf(modules, main);
  const parts = modules.map((module) => {
    const source = withFewerComments(module, withFinalNames(module, types));
    return module === main ? mainPart(module, source) : modulePart(module, source, exportedBy(main));
  });
  return formatLuau([`--!strict\n${NOTE}`, ...parts].join('\n'));
}

/** The comment at the top of a module. */
const SUMMARY = /^(?:--(?!-).*\n)+\n*/;

/** Keeps what the module is about, and what the operations do. */
function withFewerComments({ name, path }: LinkedModule, source: string): string {
  if (DOCUMENTED.has(name)) return source;
  const [summary = ''] = SUMMARY.exec(source) ?? [];
  const [before = '', api = '', after = ''] = source
    .slice(summary.length)
    .split(/^(export type \w+Api = \{\n[^]*?^\}\n)/m);
  // The summary of operations only says which file generates them.
  return path?.startsWith('Operations/')
    ? withoutComments(before) + api + withoutComments(after)
    : summary + withoutComments(source.slice(summary.length));
}

const withoutComments = (text: string) => text.replaceAll(/^[ \t]*--.*\n/gm, '');

function modulePart(module: LinkedModule, source: string, exported: ReadonlySet<string>): string {
  const { name } = module;
  const types = [...source.matchAll(TYPE)].map(([text, , type = '']) => ({ text, type })).filter(isOwnType);
  const hoisted = types.map(({ text, type }) =>
    text.replace(/^(?:export )?type /m, exported.has(type) ? 'export type ' : 'type '),
  );
  const [summary = ''] = SUMMARY.exec(source) ?? [];
  const top = `${heading(module)}${summary.trimEnd()}\n`;
  const body = source.slice(summary.length).replaceAll(TYPE, '');
  // A module that has only types returns an empty table, which nobody uses.
  if (!declarationOf(name).test(body)) return [top, ...hoisted].join('\n');
  const isClass = indexOf(name).test(body);
  const rest = body
    .replace(declarationOf(name), '')
    .replace(indexOf(name), '')
    .replace(new RegExp(`^return ${name}\\n`, 'm'), '');
  const declaration = [`local ${name} = {}`, ...(isClass ? [`${name}.__index = ${name}`] : [])];
  return [top, ...declaration, '', ...hoisted, 'do', rest.trim(), 'end', ''].join('\n');
}

const indexOf = (name: string) => new RegExp(`^${name}\\.__index = ${name}\\n`, 'm');

const declarationOf = (name: string) => new RegExp(`^local ${name} = \\{\\}\\n`, 'm');

const mainPart = (module: LinkedModule, source: string): string =>
  `${heading(module)}\n${source.replaceAll(TYPE, (text, _, type) => (isOwnType({ text, type }) ? text : ''))}`;

/** False for a type that only gives another module's type the same name again. */
const isOwnType = ({ text, type }: { text: string; type: string }) =>
  !new RegExp(`type ${type} = ${type}\\n`).test(text);

const heading = ({ path, name }: LinkedModule) => `-- ${'-'.repeat(20)} ${name} (${path})\n`;

const typesIn = ({ source }: LinkedModule) => [...source.matchAll(TYPE)].map(([, , type = '']) => type);

const exportedBy = (main: LinkedModule): ReadonlySet<string> =>
  new Set([...main.source.matchAll(/^export type (\w+)/gm)].map(([, name = '']) => name));

/** A type gets the name of its module as a prefix if another module has a type of that name. */
function typeNamesOf(modules: readonly LinkedModule[], main: LinkedModule): TypeNames {
  const names: TypeNames = new Map();
  const taken = new Set(exportedBy(main));
  for (const module of modules) {
    const own = typesIn(module).map((type): [string, string] => {
      const isPublic = module === main || isReexported(main, module, type);
      const name = taken.has(type) && !isPublic && !repeats(module, type, names) ? module.name + type : type;
      taken.add(name);
      return [type, name];
    });
    names.set(module, new Map(own));
  }
  return names;
}

/** True if a type of a module only repeats one of another module, which keeps that name. */
function repeats({ source, requires }: LinkedModule, type: string, names: TypeNames): boolean {
  const [, variable = '', original = ''] =
    new RegExp(`^export type ${type} = (\\w+)\\.(\\w+)\\n`, 'm').exec(source) ?? [];
  const required = requires.get(variable);
  return required !== undefined && names.get(required)?.get(original) === type;
}

/** True if the main module exports a type of a module under the same name, maybe by way of a third module. */
function isReexported(main: LinkedModule, module: LinkedModule, type: string): boolean {
  const [, variable = ''] = new RegExp(`^export type ${type} = (\\w+)\\.${type}\\n`, 'm').exec(main.source) ?? [];
  const required = main.requires.get(variable);
  if (required === undefined) return false;
  return required === module || isReexported(required, module, type);
}

/** Removes the modules from the names of types, and gives types their names in the one file. */
function withFinalNames(module: LinkedModule, types: TypeNames): string {
  let text = withoutRequires(module.source).replace(/^--!strict\n/, '');
  for (const [own, name] of types.get(module) ?? []) {
    if (own !== name) text = text.replaceAll(new RegExp(`(?<![\\w.\`"])${own}\\b(?!\\s*[({.])`, 'g'), name);
  }
  for (const [variable, required] of module.requires) {
    for (const [type, name] of types.get(required) ?? []) {
      text = text.replaceAll(new RegExp(`\\b${variable}\\.${type}\\b(?!\\s*\\()`, 'g'), name);
    }
  }
  return text;
}

/** All modules share the names of variables once they are in one file. */
function checkNames(modules: readonly LinkedModule[]): void {
  const names = modules.map(({ name }) => name);
  const repeated = names.filter((name, index) => names.indexOf(name) !== index);
  if (repeated.length > 0) throw new Error(`these modules have the same name: ${repeated.join(', ')}`);
  for (const { path, requires, source } of modules) {
    for (const [variable, { name }] of requires) {
      if (variable !== name) throw new Error(`${path} requires ${name} as ${variable}: use the name of the module`);
    }
    if (/\bscript\b(?!s)/.test(withoutRequires(source)))
      throw new Error(`${path} uses script: one file has no other modules`);
  }
}
