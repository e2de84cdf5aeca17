import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formatLuau } from './format.ts';
import { generateOperations } from './generator/operations.ts';

// `npm run clients`: writes the modules of operations from the route table, and formats all Luau files.

const FOLDER = import.meta.dirname;
const SOURCE = join(FOLDER, 'src');

rmSync(join(SOURCE, 'Operations'), { recursive: true, force: true });
for (const [path, text] of generateOperations()) {
  mkdirSync(dirname(join(SOURCE, path)), { recursive: true });
  writeFileSync(join(SOURCE, path), text);
}

const isOwnFile = (path: string) => path.endsWith('.luau') && !path.startsWith('dist/');
for (const path of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(isOwnFile)) {
  const text = readFileSync(join(FOLDER, path), 'utf8');
  const formatted = formatLuau(text);
  if (formatted !== text) writeFileSync(join(FOLDER, path), formatted);
}
