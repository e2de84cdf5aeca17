import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { pathOf } from '#kit/files.ts';
import type { Environment } from '#kit/service/config.ts';
import { ConnectionError } from './errors.ts';

const upFile = z.object({
  pid: z.number(),
  services: z.record(z.string(), z.object({ grpc: z.string().nullish(), admin: z.string().nullish() })),
});

/** Returns the folder in which `npm start` stores its files. */
export function dataFolder(environment: Environment): string {
  const folder = environment['DATA_DIR'];
  return folder ? resolve(folder) : pathOf('.data');
}

/** Returns the gRPC address of a service in the system that `npm start` runs. */
export function localAddress(folder: string, service: string, variable: string): string {
  const address = readUp(folder, service, `${variable} and ADMIN_SECRETS`).services[service]?.grpc;
  if (!address) throw new ConnectionError(`${join(folder, 'up.json')} has no address of ${service}: set ${variable}`);
  return address;
}

/** Returns the processes of the system that `npm start` runs, with the origins of their admin ports. */
export function localProcesses(folder: string): { name: string; url: string }[] {
  const up = readUp(folder, 'the system', 'GUILDCTL_ADMIN or --admin');
  return Object.entries(up.services).flatMap(([name, { admin }]) => (admin ? [{ name, url: admin }] : []));
}

/** Returns the administrators' secret that `npm start` generates. */
export function localAdminSecret(folder: string): string {
  const path = join(folder, 'secrets', 'admin');
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new ConnectionError(`Cannot read the administrators' secret (${code}, ${path}): set ADMIN_SECRETS`);
  }
}

/**
 * Reads the file `up.json`, which exists while the system that `npm start` runs is up. If the system was killed, the
 * file names a process that has ended.
 */
function readUp(folder: string, wanted: string, variables: string): z.output<typeof upFile> {
  const path = join(folder, 'up.json');
  const hint = `start it with \`npm start\`, or set ${variables} to reach one that runs elsewhere`;
  if (!existsSync(path)) throw new ConnectionError(`${wanted} is not running here: ${hint}`);
  const up = upFile.safeParse(JSON.parse(readFileSync(path, 'utf8')));
  if (!up.success) throw new ConnectionError(`${path} was not written by \`npm start\` of this version: restart it`);
  if (!isAlive(up.data.pid)) throw new ConnectionError(`${wanted} is no longer running here: ${hint}`);
  return up.data;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The error EPERM means that the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
