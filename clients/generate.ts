import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

// Writes what the clients generate from the route table, and their packages: `npm run clients`.

const STEPS = ['generate.ts', 'build.ts'];

for (const entry of readdirSync(import.meta.dirname, { withFileTypes: true })) {
  for (const step of STEPS) {
    const path = join(import.meta.dirname, entry.name, step);
    if (entry.isDirectory() && existsSync(path)) await import(path);
  }
}
