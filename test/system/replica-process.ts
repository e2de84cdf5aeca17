import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { pino } from 'pino';
import type { Environment } from '#kit/service/config.ts';
import type { RunningService } from '#kit/service/service.ts';
import { inheritedEnvironment } from './processes.ts';

/** A replica of a service that is a process of its own, and can be killed. */
export interface ReplicaProcess {
  at: RunningService;
  /** Resolves when it has ended, at once if it has before. */
  kill: (signal?: 'SIGKILL' | 'SIGTERM') => Promise<void>;
}

/** Starts the program `main`, a path; resolves when it has logged its addresses, which is when it is ready. */
export async function startReplicaProcess(main: string, environment: Environment): Promise<ReplicaProcess> {
  // Its addresses are told by a line of that level.
  const env = { ...inheritedEnvironment(), ...environment, LOG_LEVEL: 'info' };
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const addresses = await new Promise<RunningService['addresses']>((resolve, reject) => {
    // Read to the end, or the process would wait for room to write.
    createInterface({ input: child.stdout }).on('line', (line) => {
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
  return { at: { name: basename(dirname(main)), addresses, log, stop: () => kill('SIGTERM') }, kill };
}

/** Not every line is of the log: Node itself may have something to say. */
function addressesIn(line: string): RunningService['addresses'] | undefined {
  return line.startsWith('{') ? (JSON.parse(line) as Partial<RunningService>).addresses : undefined;
}
