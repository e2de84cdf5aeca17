import { readdirSync } from 'node:fs';

/** The Luau files below a folder, by their paths from it. */
export function luauFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.luau'));
}
