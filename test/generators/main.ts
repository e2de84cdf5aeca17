// `node test/generators/main.ts`: checks the OpenAPI document and the Postman collection with the linters and generators
// that readers use, and calls every operation of a running system with each generated client.
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openApiDocument } from '#gateway/openapi/openapi.ts';
import { postmanCollection } from '#gateway/postman/collection.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { callFiles } from './call-files.ts';
import { checkClients } from './live-calls.ts';
import { startLocalSystem } from './local-system.ts';

const FOLDER = join(import.meta.dirname, 'tools');
const BUILD = join(FOLDER, 'build');

/** Runs a program of this folder's packages, and throws with its output if it fails. */
async function run(name: string, program: string, ...args: string[]): Promise<void> {
  const begun = Date.now();
  try {
    await promisify(execFile)(process.execPath, [join(FOLDER, program), ...args], { cwd: FOLDER, maxBuffer: 1e8 });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${name} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
  console.log(`${name}: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
}

const inBuild = (file: string) => join(BUILD, file);

rmSync(BUILD, { recursive: true, force: true });
mkdirSync(BUILD);
// The linters reject addresses of examples.
const document = openApiDocument(ROUTES, { version: '1.0.0', serverUrl: 'https://data.guild.test' });
writeFileSync(inBuild('openapi.json'), JSON.stringify(document));
writeFileSync(inBuild('postman.json'), JSON.stringify(postmanCollection(document)));
for (const [file, text] of callFiles(document)) writeFileSync(inBuild(file), text);

const systemStarts = startLocalSystem(inBuild('data'));
// The system is stopped below, also if a check fails first.
systemStarts.catch(() => undefined);
try {
  await Promise.all([
    run('redocly', 'node_modules/@redocly/cli/bin/cli.js', 'lint', '--config', 'redocly.yaml', 'build/openapi.json'),
    run(
      'spectral',
      'node_modules/@stoplight/spectral-cli/dist/index.js',
      'lint',
      'build/openapi.json',
      '--ruleset=spectral.yaml',
      '--fail-severity=hint',
    ),
    run('swagger-parser', 'clients/parse.ts'),
    run('generators', 'clients/generate.ts'),
  ]);
  await run('strict compilation', 'node_modules/typescript/bin/tsc', '-p', '.');
  const system = await systemStarts;
  await checkClients(document, BUILD, system);
  const variables = { baseUrl: system.url, key: system.key, guildId: system.guildId };
  const given = Object.entries(variables).flatMap(([name, value]) => ['--env-var', `${name}=${value}`]);
  await run('postman collection', 'node_modules/newman/bin/newman.js', 'run', 'build/postman.json', '--bail', ...given);
} finally {
  // The error of a system that did not start is thrown above, unless a check failed first.
  await systemStarts.then((system) => system.stop()).catch(() => undefined);
}
