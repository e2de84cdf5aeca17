import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { pino } from 'pino';
import type { Environment } from '#kit/service/config.ts';
import type { RunningService } from '#kit/service/service.ts';
import { inheritedEnvironment } from './processes.ts';

/** A replica of a service in a process of its own, which can be killed. */
export interface ReplicaProcess {
  at: RunningService;
  pid: number;
  /** Resolves when the process has ended. */
  kill: (signal?: 'SIGKILL' | 'SIGTERM') => Promise<void>;
}

/**
 * Starts the program at the path `main`; resolves when it has logged its addresses, which means that it is ready.
 * `onLine` receives each line that it prints.
 */
export async function startReplicaProcess(
  main: string,
  environment: Environment,
  onLine: (line: string) => void = () => undefined,
): Promise<ReplicaProcess> {
  // The line with its addresses has this level.
  const env = { ...inheritedEnvironment(), ...environment, LOG_LEVEL: 'info' };
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const addresses = await new Promise<RunningService['addresses']>((resolve, reject) => {
    // Reads all output, because the process would otherwise block when the pipe is full.
    createInterface({ input: child.stdout }).on('line', (line) => {
      onLine(line);
      const addresses = addressesIn(line);
      if (addresses) resolve(addresses);
    });
    child.once('exit', () => reject(new Error(`${main} did not become ready`)));
  });
  const kill = async (signal: NodeJS.Signals = 'SIGKILL') => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  const log = pino({ level: 'silent' });
  const at = { name: basename(dirname(main)), addresses, log, stop: () => kill('SIGTERM') };
  return { at, pid: child.pid as number, kill };
}

/** Skips lines that are not JSON: Node itself may print warnings. */
function addressesIn(line: string): RunningService['addresses'] | undefined {
  return line.startsWith('{') ? (JSON.parse(line) as Partial<RunningService>).addresses : undefined;
}
