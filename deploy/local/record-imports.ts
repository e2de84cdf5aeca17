// Loaded by each process of `npm run dev` before its program: writes the path of every file of this repository that the
// process imports to the file that IMPORT_RECORD names, one on each line.
import { openSync, writeSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const record = process.env['IMPORT_RECORD'];

if (record !== undefined) {
  const file = openSync(record, 'w', 0o600);
  const written = new Set<string>();
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      const { url } = resolved;
      if (url.startsWith('file:') && !url.includes('/node_modules/') && !written.has(url)) {
        written.add(url);
        writeSync(file, `${fileURLToPath(url)}\n`);
      }
      return resolved;
    },
  });
}
