import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { pathOf } from '#kit/files.ts';
import { keepFolders, requireBuiltins, shakeZod } from './plugins.ts';
import { PROGRAMS, programFile } from './programs.ts';
import { ownLines } from './source-map.ts';

/** The bundles of all programs: one file each, and its source map. */
export interface Bundles {
  /** The content of each file, by its path in the image. */
  files: Map<string, string>;
  /** The folders of the packages that the bundles contain, below the repository. */
  packages: string[];
}

/** What CommonJS packages in a bundle use: `require` for Node's modules, and the folder of their code. */
const COMMON_JS = `const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);
const bundleFolder = import.meta.dirname, __dirname = bundleFolder;`;

/** A native driver that `pg` requires only if a program asks for it; none does. */
const NOT_INSTALLED = ['pg-native'];

/**
 * Bundles each program with all that it imports into one file. Paths in source maps begin at the repository, so that
 * stack traces name the source files.
 */
export async function bundlePrograms(): Promise<Bundles> {
  const root = pathOf('.');
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: PROGRAMS,
    outdir: root,
    write: false,
    bundle: true,
    platform: 'node',
    target: 'node26',
    format: 'esm',
    external: NOT_INSTALLED,
    plugins: [requireBuiltins, keepFolders, shakeZod],
    banner: { js: COMMON_JS },
    sourcemap: 'linked',
    sourcesContent: false,
    // Names are kept, because stack traces and some packages use them.
    minifyWhitespace: true,
    minifySyntax: true,
    // Node prints the line of an uncaught error.
    lineLimit: 200,
    // The licences are in a file of their own.
    legalComments: 'none',
    metafile: true,
    logLevel: 'error',
  });
  checkOwnMains(root, metafile);
  const files = outputFiles.map(({ path, text }) => {
    const content = path.endsWith('.map') ? ownLines(text) : text;
    return [path.slice(join(root, '/').length), content] as const;
  });
  return { files: new Map(files), packages: packagesOf(metafile) };
}

/** Throws if a bundle contains another file that would act as the main program, because all files of a bundle are one. */
function checkOwnMains(root: string, { outputs }: Metafile): void {
  for (const [name, main] of Object.entries(PROGRAMS)) {
    const inputs = Object.keys(outputs[programFile(name)]?.inputs ?? {});
    const others = inputs.filter((path) => path.endsWith('.ts') && path !== main && !path.startsWith('node_modules/'));
    const second = others.find((path) => readFileSync(join(root, path), 'utf8').includes('import.meta.main'));
    if (second) throw new Error(`${main} imports ${second}, which would run as a program too`);
  }
}

function packagesOf({ outputs }: Metafile): string[] {
  const paths = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = paths.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].sort();
}
