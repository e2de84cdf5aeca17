import { readFileSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import { ApiError } from '#kit/errors.ts';
import { sendError } from '#kit/http/envelope.ts';
import { writeResponseHead } from '#kit/http/response-headers.ts';
import { splitTarget } from '#kit/http/target.ts';

/** What `npm run console:build` writes into the folder of the built app. */
const manifest = z.object({
  /** The HTML of every page. */
  html: z.string(),
  /** The files by their path in URLs; `gzip` is the path of the compressed copy, if it is smaller. */
  files: z.record(z.string(), z.object({ type: z.string(), gzip: z.string().nullable() })),
});

interface File {
  type: string;
  plain: Buffer;
  gzip: Buffer | undefined;
}

const MANIFEST = 'manifest.json';
const HTML = 'text/html; charset=utf-8';
const NOT_BUILT = `<!doctype html>
<html lang="en"><title>The console is not built</title>
<p>The app of the console is not built. Run <code>npm run console:build</code> and restart the console.</p>
</html>
`;

interface Build {
  /** When it was built. */
  builtAtMs: number;
  files: ReadonlyMap<string, File>;
  html: File;
}

/** How often a new build is looked for. */
const CHECK_MS = 1_000;

/**
 * Serves the built app. All of its files are in memory, by their exact paths, so that no path of a request is ever used to
 * open a file. A new build is used within a second; the files of the previous one are served as well, to pages that are
 * still open.
 */
export class Assets {
  readonly #folder: string;
  #build: Build | undefined;
  #previous: ReadonlyMap<string, File> = new Map();
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Responds to a GET: with a file below /assets, otherwise with the HTML of the app, which routes in the browser. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#refresh();
    const { path } = splitTarget(request.url ?? '');
    const file = this.#build?.files.get(path) ?? this.#previous.get(path);
    // The names of files contain their hash, so that their content never changes.
    if (file) return send(request, response, file, 'public, max-age=31536000, immutable');
    if (path.startsWith('/assets/')) return sendError(response, new ApiError('ROUTE_NOT_FOUND'));
    if (this.#build) return send(request, response, this.#build.html, 'no-cache');
    writeResponseHead(response, 503, ['content-type', HTML, 'cache-control', 'no-store']);
    response.end(NOT_BUILT);
  }

  #refresh(): void {
    if (performance.now() - this.#checkedAt < CHECK_MS) return;
    this.#checkedAt = performance.now();
    const builtAtMs = statSync(join(this.#folder, MANIFEST), { throwIfNoEntry: false })?.mtimeMs;
    if (builtAtMs === undefined || builtAtMs === this.#build?.builtAtMs) return;
    this.#previous = this.#build?.files ?? new Map();
    this.#build = { builtAtMs, ...readBuild(this.#folder) };
  }
}

function readBuild(folder: string): Omit<Build, 'builtAtMs'> {
  const read = (path: string) => readFileSync(join(folder, path));
  const { html, files } = manifest.parse(JSON.parse(read(MANIFEST).toString()));
  const all = Object.entries(files).map(([path, { type, gzip }]): [string, File] => [
    path,
    { type, plain: read(path), gzip: gzip === null ? undefined : read(gzip) },
  ]);
  return { files: new Map(all), html: { type: HTML, plain: Buffer.from(html), gzip: undefined } };
}

function send(request: IncomingMessage, response: ServerResponse, { type, plain, gzip }: File, caching: string): void {
  const isCompressed = gzip !== undefined && /\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? '');
  const body = isCompressed ? gzip : plain;
  const headers = [
    'content-type',
    type,
    'content-length',
    body.length,
    'cache-control',
    caching,
    'vary',
    'accept-encoding',
  ];
  if (isCompressed) headers.push('content-encoding', 'gzip');
  writeResponseHead(response, 200, headers);
  response.end(request.method === 'HEAD' ? undefined : body);
}
