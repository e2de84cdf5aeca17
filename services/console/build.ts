import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

// Builds the browser app into `dist`: `npm run console:build`.

const APP = join(import.meta.dirname, 'app');
const DIST = join(import.meta.dirname, 'dist');

/** What the console serves: the HTML of every page, and the other files by their path in the URL. */
export interface Manifest {
  html: string;
  /** `gzip` is the name of the compressed copy in `dist`; null if it would not be smaller. The file itself is at its path. */
  files: Record<string, { type: string; gzip: string | null }>;
}

/** A built file, before it is written. */
export interface Asset {
  /** Path in the URL, and below `dist`. Its name has a hash of the content, so that it can be cached forever. */
  path: string;
  type: string;
  content: Buffer;
  compressed: Buffer;
}

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Bundles the script, the style sheet and the icon. Writes nothing. */
export async function bundleApp(): Promise<Asset[]> {
  const { outputFiles } = await build({
    entryPoints: [join(APP, 'main.tsx'), join(APP, 'theme.ts'), join(APP, 'style.css'), join(APP, 'icon.svg')],
    bundle: true,
    minify: true,
    write: false,
    outdir: DIST,
    outbase: APP,
    entryNames: 'assets/[name]-[hash]',
    loader: { '.svg': 'copy' },
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
  });
  return outputFiles.map(({ path, contents }) => {
    const content = Buffer.from(contents);
    const type = TYPES[path.slice(path.lastIndexOf('.'))];
    if (type === undefined) throw new Error(`no content type is known for ${path}`);
    const compressed = gzipSync(content, { level: constants.Z_BEST_COMPRESSION });
    return { path: path.slice(DIST.length), type, content, compressed };
  });
}

/** Builds the app and writes it. The manifest is written last, so that a running console never sees half of a build. */
export async function buildApp(dist = DIST): Promise<Manifest> {
  const assets = await bundleApp();
  const manifest: Manifest = { html: htmlOf(assets), files: {} };
  await rm(join(dist, 'assets'), { recursive: true, force: true });
  for (const { path, type, content, compressed } of assets) {
    await mkdir(dirname(join(dist, path)), { recursive: true });
    await writeFile(join(dist, path), content);
    const isSmaller = compressed.length < content.length;
    if (isSmaller) await writeFile(join(dist, `${path}.gz`), compressed);
    manifest.files[path] = { type, gzip: isSmaller ? `${path}.gz` : null };
  }
  await writeFile(join(dist, 'manifest.json.new'), `${JSON.stringify(manifest, null, 2)}\n`);
  await rename(join(dist, 'manifest.json.new'), join(dist, 'manifest.json'));
  return manifest;
}

function htmlOf(assets: readonly Asset[]): string {
  const pathOf = (name: RegExp) => assets.find(({ path }) => name.test(path))?.path ?? '';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Guild Data</title>
<link rel="icon" href="${pathOf(/icon-.*\.svg$/)}" type="image/svg+xml">
<link rel="stylesheet" href="${pathOf(/\.css$/)}">
<script src="${pathOf(/\/theme-.*\.js$/)}"></script>
<script type="module" src="${pathOf(/\/main-.*\.js$/)}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript.</noscript>
</body>
</html>
`;
}

if (import.meta.main) await buildApp();
