import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Entry } from '../archive/entry.ts';
import type { ImageSettings } from './settings.ts';

/** Writes what layers contain into a folder, as a container runtime does. */
export function unpack(entries: readonly Entry[], folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const entry of entries) {
    const path = join(folder, entry.path);
    if (entry.type === 'link') symlinkSync(entry.target, path);
    else if (entry.type === 'file') writeFileSync(path, entry.content);
    else mkdirSync(path, { recursive: true });
    if (entry.type !== 'link') chmodSync(path, entry.mode);
  }
}

/**
 * Starts the image's entrypoint in namespaces of its own, with the folder as its root and the user of the image. It has the
 * network of this machine.
 */
export function start(
  folder: string,
  { Entrypoint: [program = ''], Env, User, WorkingDir }: ImageSettings,
  words: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): ChildProcess {
  const [user, group] = User.split(':');
  const namespaces = [
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc=/proc',
    `--root=${folder}`,
    `--wd=${WorkingDir}`,
  ];
  const owner = [`--map-user=${user}`, `--map-group=${group}`];
  // `unshare` looks the program up in the PATH of the image, after it has changed the root.
  const env = { ...Object.fromEntries(Env.map((line) => line.split(/=(.*)/s).slice(0, 2))), ...environment };
  return spawn('/usr/bin/unshare', [...owner, ...namespaces, '--', program, ...words], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

export type Finished = { status: number | null; output: string; errors: string };

/** Runs a program of the image to its end. */
export async function run(...parameters: Parameters<typeof start>): Promise<Finished> {
  const child = start(...parameters);
  if (!child.stdout || !child.stderr) throw new Error('the process has no output');
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [[status], output, errors] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  return { status, output, errors };
}
