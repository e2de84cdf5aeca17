import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePorts } from '#local/ports.ts';

/** A system that `npm start` would start, with the key of its demo guild. */
export interface LocalSystem {
  url: string;
  key: string;
  guildId: string;
  stop(): Promise<void>;
}

/** A generous limit, because CI does other work on the same cores meanwhile. */
const START_MS = 180_000;

/** Starts the whole system in a folder of its own, on a free port. */
export async function startLocalSystem(folder: string): Promise<LocalSystem> {
  const repository = join(import.meta.dirname, '..', '..');
  const [port] = await freePorts(1);
  const environment = { ...process.env, DATA_DIR: folder, GATEWAY_PORT: String(port) };
  const child = spawn(process.execPath, [join(repository, 'deploy/local/start.ts')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  const file = join(folder, 'up.json');
  const deadline = Date.now() + START_MS;
  while (!existsSync(file) || !output.includes(readGateway(file))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`the system did not start:\n${output}`);
    }
    await pause(100);
  }
  const { gateway, demo } = JSON.parse(readFileSync(file, 'utf8'));
  return { url: gateway, key: demo.key, guildId: demo.guild_id, stop };
}

const readGateway = (file: string): string => JSON.parse(readFileSync(file, 'utf8')).gateway;
