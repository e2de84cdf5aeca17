// Checks the client as it is published: the files of the package, its types, its size in a bundle, and that it runs on
// Node 20, Bun and Deno. Needs `npm ci` in this folder: node clients/typescript/checks/main.ts
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApiDocument } from '../../../gateway/openapi/openapi.ts';
import { ROUTES } from '../../../proto/rest/index.ts';
import { unpackClient } from '../pack.ts';
import { checkBundle } from './bundle.ts';
import { comparisonOf } from './comparison.ts';
import { runEverywhere } from './runtimes.ts';

const program = (name: string) => join(import.meta.dirname, 'node_modules/.bin', name);
const run = (name: string, ...args: string[]) =>
  execFileSync(program(name), args, { cwd: import.meta.dirname, stdio: 'inherit' });

const OPTIONS = {
  noEmit: true,
  strict: true,
  target: 'es2022',
  module: 'nodenext',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: [],
  allowImportingTsExtensions: true,
};

/** Compares the types of every operation with those that openapi-typescript generates from the same document. */
function checkTypes(folder: string): void {
  const document = openApiDocument(ROUTES, {
    version: '1.0.0',
    serverUrl: 'https://data.example.com',
    hasAllNames: true,
  });
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
  const [input, output] = [join(folder, 'openapi.json'), join(folder, 'reference.ts')];
  execFileSync(process.execPath, [join(import.meta.dirname, 'reference-types.mjs'), input, output], {
    stdio: 'inherit',
  });
  const { text, operations } = comparisonOf(document);
  writeFileSync(join(folder, 'comparison.ts'), text);
  // Checks the published declarations too, as a project without skipLibCheck does.
  const examples = writeExamples(folder);
  const project = { compilerOptions: OPTIONS, files: ['comparison.ts', ...examples] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
  run('tsc', '-p', folder);
  console.log(`types: ${operations} operations have the types that openapi-typescript generates`);
  console.log(`README: ${examples.length - 1} examples compile`);
}

/** What the examples of the README use without declaring it. */
const GLOBALS = `declare global {
  const guild: import('@guild-data/client').GuildData;
  const process: { env: Record<string, string | undefined> };
  const request: Request;
  const options: import('@guild-data/client').ClientOptions;
  const [key, guildId, baseUrl, chatId]: string[] & Record<0 | 1 | 2 | 3, string>;
  const loadPosition: () => Promise<number>;
  const savePosition: (seq: number) => void;
}
export {};
`;

/** Writes the examples of the README into files of their own, and returns their names. */
function writeExamples(folder: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
  const examples = [...text.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => `${code}`);
  const files = examples.map((code, index): [string, string] => [
    `example-${index}.ts`,
    // `return` needs a function around it, and `import` must be outside of it.
    code.includes('return ')
      ? code.replace(/\n\n([^]*)$/, '\n\nexport async function example() {\n$1}\n')
      : `${code}export {};\n`,
  ]);
  files.push(['globals.d.ts', GLOBALS]);
  for (const [name, code] of files) writeFileSync(join(folder, name), code);
  return files.map(([name]) => name);
}

const folder = mkdtempSync(join(tmpdir(), 'client-checks-'));
try {
  if (!existsSync(program('tsc'))) throw new Error('run npm ci in clients/typescript/checks first');
  const packageFile = unpackClient(folder);
  console.log(`package: ${readdirSync(join(folder, 'node_modules/@guild-data/client/dist')).length} files in dist`);
  run('attw', packageFile, '--profile', 'esm-only', '--no-emoji', '--no-color', '--format', 'ascii');
  run('publint', packageFile, '--strict');
  checkTypes(folder);
  await checkBundle(folder, program('esbuild'));
  await runEverywhere(folder, program);
} finally {
  rmSync(folder, { recursive: true });
}
