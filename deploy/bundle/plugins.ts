import { readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import type { Plugin } from 'esbuild';
import { pathOf } from '#kit/files.ts';

const REQUIRED = 'required';

/**
 * Requires Node's modules instead of importing them. Node reads every export of a module that is imported, and some load
 * more: those of node:http load the HTTP client of `fetch`, which takes a tenth of the processor time of a start.
 */
export const requireBuiltins: Plugin = {
  name: 'require-builtins',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: REQUIRED, sideEffects: false } : { path, external: true },
    );
    build.onLoad({ filter: /.*/, namespace: REQUIRED }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

/**
 * @grpc/reflection reads files of its package. In a bundle its code gets the folder that it has in the repository; the image
 * has those files at the same paths.
 */
export const keepFolders: Plugin = {
  name: 'keep-folders',
  setup(build) {
    build.onLoad({ filter: /\/@grpc\/reflection\/build\/src\/implementations\/[\w-]+\.js$/ }, ({ path }) => {
      const folder = JSON.stringify(`/${relative(pathOf('.'), dirname(path))}`);
      return { contents: `const __dirname = bundleFolder + ${folder};\n${readFileSync(path, 'utf8')}` };
    });
  },
};

/**
 * Imports zod as a namespace, of which esbuild keeps only what is used. The object `z` contains all of zod, with its
 * messages in fifty languages.
 */
export const shakeZod: Plugin = {
  name: 'shake-zod',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace("import { z } from 'zod';", "import * as z from 'zod';"),
      loader: 'ts',
    }));
  },
};
