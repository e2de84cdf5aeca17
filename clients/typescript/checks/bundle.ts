import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** The compressed size of a program with two functions. A client with all operations has about twice as many. */
const MAX_GZIP_BYTES = 5_000;

const PROGRAM = `import { Client, banPlayer, getPlayerStatuses } from '@guild-data/client';
const client = new Client({ key: process.env.KEY, guildId: '900000000000000001', baseUrl: 'https://data.example.com' });
await banPlayer(client, { game_id: 7001, reason: 'Spams the chat', duration: '7d' });
console.log(await getPlayerStatuses(client, { game_ids: [7001] }));
`;

/** Checks that a bundler leaves out the operations that a program does not call. */
export async function checkBundle(folder: string, esbuild: string): Promise<void> {
  writeFileSync(join(folder, 'program.js'), PROGRAM);
  const output = join(folder, 'bundle.js');
  const options = [
    '--bundle',
    '--minify',
    '--format=esm',
    '--platform=neutral',
    '--log-level=warning',
    `--outfile=${output}`,
  ];
  execFileSync(esbuild, [join(folder, 'program.js'), ...options], { stdio: 'inherit' });
  const bundle = readFileSync(output);
  const size = gzipSync(bundle).length;
  const others = ['listMembers', 'streamEvents', 'webhook-signature'].filter((text) => bundle.includes(text));
  if (others.length > 0) throw new Error(`the bundle has code that the program does not use: ${others.join(', ')}`);
  if (size > MAX_GZIP_BYTES) throw new Error(`the bundle has ${size} bytes, more than ${MAX_GZIP_BYTES}`);
  console.log(`bundle of two operations: ${bundle.length} bytes, ${size} compressed`);
}
