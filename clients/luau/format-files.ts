import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatLuau } from './format.ts';

// Names the Luau files that are not formatted, and fails if there are any; with --write it formats them.

const isOwnFile = (path: string) => path.endsWith('.luau') && !/(?:^|\/)(?:dist|node_modules)\//.test(path);

/** Formats the Luau files below a folder if `write` is true. Returns those that are, or were, not formatted. */
export function formatFiles(folder: string, write: boolean): string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isOwnFile);
  return paths.filter((path) => {
    const text = readFileSync(join(folder, path), 'utf8');
    const formatted = formatLuau(text);
    if (write && formatted !== text) writeFileSync(join(folder, path), formatted);
    return formatted !== text;
  });
}

if (import.meta.main) {
  const write = process.argv.includes('--write');
  const changed = formatFiles(import.meta.dirname, write);
  for (const path of changed) console.log(`clients/luau/${path} ${write ? 'was formatted' : 'is not formatted'}`);
  if (!write && changed.length > 0) {
    console.log('format them with npm run format');
    process.exitCode = 1;
  }
}
