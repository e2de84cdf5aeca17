import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Development } from './development.ts';
import { privateFolder } from './files.ts';
import { greeting } from './greeting.ts';
import { lockFolder } from './lock.ts';
import { readSettings, type Settings } from './settings.ts';
import { System, type SystemOptions } from './system.ts';

export type SessionOptions = Pick<
  SystemOptions,
  'repository' | 'programs' | 'deployables' | 'simulators' | 'makeDemo' | 'console'
> & {
  /** Given by `npm run dev`: what restarts processes when their source changes. */
  createDevelopment?: (dataFolder: string) => Development;
};

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs the system until a signal arrives, then stops it. Returns the exit status. */
export async function runUntilStopped(options: SessionOptions): Promise<number> {
  const begun = Date.now();
  // Writing to a closed terminal or pipe must not end this process before its children are stopped.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const stopRequested = new Promise<NodeJS.Signals>((resolve) => {
    // Ctrl-C may arrive several times, from the terminal and from npm; only the first one counts.
    for (const signal of STOP_SIGNALS) process.on(signal, resolve);
  });
  let system: System | undefined;
  try {
    const settings = readSettings(process.env, options.repository);
    await claim(settings);
    const isTerminal = process.stdout.isTTY;
    const development = options.createDevelopment?.(settings.dataFolder);
    development?.start();
    const { createDevelopment: _createDevelopment, ...parts } = options;
    system = new System({ ...parts, settings, development, isTerminal, environment: process.env, report: console.log });
    const ready = system.start().then((up) => {
      console.log(greeting(up, settings.dataFolder, (Date.now() - begun) / 1000));
      return stopRequested;
    });
    const signal = await Promise.race([stopRequested, ready]);
    console.log(`${signal}: stopping …`);
    await system.stop();
    console.log('Stopped');
    return 0;
  } catch (error) {
    console.error(`Guild Data could not be started: ${error instanceof Error ? error.message : String(error)}`);
    await system?.stop();
    return 1;
  }
}

/** Throws if another system uses the same data folder. */
async function claim({ dataFolder }: Settings): Promise<void> {
  if (await lockFolder(privateFolder(dataFolder))) return;
  throw new Error(
    `it is running already in ${dataFolder}${runningInstance(dataFolder)}. ` +
      'Stop it first, or set DATA_DIR and GATEWAY_PORT to run a second one',
  );
}

/** ` (process 4711, http://127.0.0.1:8080)`; empty while the other system is still starting. */
function runningInstance(folder: string): string {
  try {
    const up: unknown = JSON.parse(readFileSync(join(folder, 'up.json'), 'utf8'));
    if (typeof up !== 'object' || up === null || !('pid' in up) || !('gateway' in up)) return '';
    return ` (process ${String(up.pid)}, ${String(up.gateway)})`;
  } catch {
    return '';
  }
}
