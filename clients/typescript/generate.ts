// `npm run clients`: writes the generated files of the TypeScript client.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '../../gateway/openapi/openapi.ts';
import { ROUTES } from '../../proto/rest/index.ts';
import { clientFiles } from './generator/files.ts';

const ROOT = join(import.meta.dirname, '../..');
const document = openApiDocument(ROUTES, {
  version: '1.0.0',
  serverUrl: 'https://data.example.com',
  hasAllNames: true,
});
const paths = Object.entries(clientFiles(document)).map(([name, text]) => {
  const path = join(import.meta.dirname, 'src', name);
  writeFileSync(path, text);
  return path;
});
const biome = join(ROOT, 'node_modules/.bin/biome');
execFileSync(biome, ['check', '--linter-enabled=false', '--write', ...paths], {
  cwd: ROOT,
  stdio: ['ignore', 'ignore', 'inherit'],
});
