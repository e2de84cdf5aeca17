import { execFileSync, spawn } from 'node:child_process';
import { accessSync, constants, copyFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fail, startScriptedServer, succeed } from '../fixture.ts';

/** Not in package-lock.json, because registries may lack its packages for other platforms, and then npm ci fails. */
const DENO = ['npx', '--yes', 'deno@2.9.6'];

function hasDeno(): boolean {
  const [npx = '', ...args] = DENO;
  try {
    execFileSync(npx, [...args, '--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Runs the smoke program with every runtime that is installed here. */
export async function runEverywhere(folder: string, program: (name: string) => string): Promise<void> {
  const script = join(folder, 'smoke.mjs');
  copyFileSync(join(import.meta.dirname, 'smoke.mjs'), script);
  const node = nodeOfMachine();
  const runtimes: Record<string, string[] | undefined> = {
    'Node of this repository': [process.execPath, script],
    'Node of this machine': node === undefined ? undefined : [node, script],
    Bun: isProgram(program('bun')) ? [program('bun'), script] : undefined,
    Deno: hasDeno() ? [...DENO, 'run', '--allow-net', script] : undefined,
  };
  for (const [name, command] of Object.entries(runtimes)) {
    console.log(command ? `${name}: ${await smoke(command)}` : `NOT CHECKED: ${name}, which is not installed`);
  }
}

/** Runs the smoke program against a server that fails once, and returns what it prints. */
export async function smoke([command = '', ...args]: readonly string[]): Promise<string> {
  const data = { guild_id: '900000000000000001', scopes: ['lookup:read'] };
  const server = await startScriptedServer([
    fail(503, 'UNAVAILABLE', { 'retry-after': '0' }),
    succeed(data),
    fail(404, 'NOT_FOUND'),
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('id: 5\nevent: link.created\ndata: {"seq":5,"type":"link.created"}\n\n');
    },
  ]);
  try {
    const child = spawn(command, [...args, server.baseUrl], { stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject));
    const [status, output, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    if (status !== 0) throw new Error(`${command} ended with ${status}: ${output}${errors}`);
    return output.trim();
  } finally {
    await server.stop();
  }
}

/** Returns the first Node in PATH, without the folders that npm has added to PATH. */
export function nodeOfMachine(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return folders.map((folder) => join(folder, 'node')).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
