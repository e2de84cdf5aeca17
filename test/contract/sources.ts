import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../..');
const FOLDERS = ['proto', 'services', 'gateway', 'deploy', 'clients', 'test'];
const ALIASES = Object.entries(packageJson.imports).map(([name, target]) => [name.slice(0, -1), target.slice(0, -1)]);

const IMPORT = /^(?:import|export)\s+(type\s)?([^;'"]*?)\sfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm;

export interface Import {
  /** A file of the repository, or the name of a package. */
  target: string;
  /** True if only types are imported, which disappear at run time. */
  isType: boolean;
}

export interface Source {
  /** Path from the root of the repository. */
  path: string;
  text: string;
  imports: Import[];
}

/** Generators of clients, with their own packages and what they generate. */
const OWN_PACKAGE = 'test/generators/tools/';

/** Every source file of the repository, including generated ones. */
export const SOURCES: Source[] = FOLDERS.flatMap((folder) => filesBelow(folder, /\.(tsx?|mjs)$/))
  .filter((path) => !path.startsWith(OWN_PACKAGE))
  .map((path) => {
    const text = readText(path);
    return { path, text, imports: importsOf(path, text) };
  });

export const isGenerated = ({ path }: Source) =>
  path.startsWith('proto/gen/') || /^clients\/typescript\/src\/operations[^/.]*\.ts$/.test(path);

/** Tests and their helpers: fixtures, and suites that test several implementations. */
export const isOfTests = (path: string) =>
  /\.(?:test|suite)\.ts$|\/fixtures?(?:\/|\.ts$)|\/test-[^/]+\.ts$|^test\/|^clients\/[^/]+\/(?:test|checks)\//.test(
    path,
  );

/** Code that runs in production. */
export const CODE = SOURCES.filter((source) => !isGenerated(source) && !isOfTests(source.path));

/** The name of the folder below `services` that contains a file; undefined outside of it. */
export function serviceOf(path: string): string | undefined {
  return /^services\/([^/]+)\//.exec(path)?.[1];
}

/** All services, without kit, platforms and cli. */
export const SERVICES = [...new Set(CODE.map(({ path }) => serviceOf(path)))].filter((name) => {
  return name !== undefined && !['kit', 'platforms', 'cli'].includes(name);
}) as string[];

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Files below a folder of the repository; none if the folder does not exist. */
export function filesBelow(folder: string, name: RegExp): string[] {
  let entries: string[];
  try {
    entries = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  // Packages, and what is built from the sources.
  const isSource = (path: string) => !/(?:^|\/)(?:node_modules|dist)\//.test(path);
  return entries.filter((path) => name.test(path) && isSource(path)).map((path) => join(folder, path));
}

function importsOf(path: string, text: string): Import[] {
  return [...text.matchAll(IMPORT)].map(([, type, names = '', from, bare, dynamic]) => ({
    target: resolve(path, from ?? bare ?? dynamic ?? ''),
    isType: type !== undefined || isAllTypes(names),
  }));
}

/** True for `{ type A, type B }`. */
function isAllTypes(names: string): boolean {
  const [, inner] = /^\{([^}]*)\}$/.exec(names.trim()) ?? [];
  const parts = (inner ?? '').split(',').filter((part) => part.trim() !== '');
  return parts.length > 0 && parts.every((part) => part.trim().startsWith('type '));
}

function resolve(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return relative(ROOT, join(ROOT, dirname(path), specifier));
  const [alias, target] = ALIASES.find(([name]) => name !== undefined && specifier.startsWith(name)) ?? [];
  return alias === undefined ? specifier : join(target ?? '', specifier.slice(alias.length));
}
