import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formatFiles } from './format-files.ts';
import { generateOperations } from './generator/operations.ts';

// `npm run clients`: writes the modules of operations from the route table, and formats all Luau files.

const FOLDER = import.meta.dirname;
const SOURCE = join(FOLDER, 'src');

rmSync(join(SOURCE, 'Operations'), { recursive: true, force: true });
for (const [path, text] of generateOperations()) {
  mkdirSync(dirname(join(SOURCE, path)), { recursive: true });
  writeFileSync(join(SOURCE, path), text);
}

formatFiles(FOLDER, true);
