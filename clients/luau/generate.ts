import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generateOperations } from './generator/operations.ts';

// Writes the modules of operations from the route table: `npm run clients`.

const SOURCE = join(import.meta.dirname, 'src');

rmSync(join(SOURCE, 'Operations'), { recursive: true, force: true });
for (const [path, text] of generateOperations()) {
  mkdirSync(dirname(join(SOURCE, path)), { recursive: true });
  writeFileSync(join(SOURCE, path), text);
}
