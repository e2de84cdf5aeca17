import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname } from 'node:path';
import { ROOT } from '../files.ts';

/** A position in a bundle of the image, such as `file:///app/lookup.js:12:345`. */
const POSITION = /file:\/\/(\/[^\s()]+\.js):(\d+):(\d+)/g;

/** The source maps that were read, by the path of the bundle; undefined if there is none. */
const maps = new Map<string, SourceMap | undefined>();

/**
 * Names the source files in a stack trace of a bundle. Node's own support (--enable-source-maps) would parse the source map
 * whenever a stack is read, which Pino does at the start of each process.
 */
export function sourceStack(stack: string): string {
  return stack.replaceAll(POSITION, (position, file: string, line: string, column: string) => {
    // Packages may have source maps of their own, which are large and say nothing about our code.
    if (dirname(file) !== ROOT) return position;
    const origin = mapOf(file)?.findOrigin(Number(line), Number(column));
    if (!origin || !('fileName' in origin)) return position;
    // The column is left out, because the source maps of the bundles have only lines.
    return `${origin.fileName}:${origin.lineNumber}`;
  });
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(`${file}.map`));
  return maps.get(file);
}

function readMap(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    // A bundle may have none.
    return undefined;
  }
}
