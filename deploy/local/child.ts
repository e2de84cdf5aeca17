import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** A program to be run as a child process. */
export type Command = {
  command: readonly [string, ...string[]];
  environment?: NodeJS.ProcessEnv;
  /** Run as this user and group, with the right to pass folders of mode 0700; needs root. */
  owner?: { uid: number; gid: number } | undefined;
  /** Receives what the process prints. */
  output: (text: string, stream: 'stdout' | 'stderr') => void;
  /** The signal that ends it in an orderly way; SIGTERM by default. */
  stopSignal?: NodeJS.Signals;
  /** The signal that the kernel sends it when this process ends for any reason; SIGKILL by default. */
  orphanSignal?: NodeJS.Signals;
};

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type Child = {
  pid: number;
  /** Settles when the process has ended; never rejects. */
  exited: Promise<Exit>;
  /** How it ended; undefined while it runs. */
  exit(): Exit | undefined;
  /** Sends the stop signal, kills the process after `patience` milliseconds, and waits until it has ended. */
  stop(patience: number): Promise<Exit>;
};

/** Something that runs as a process: how to start it and how to see that it is ready. */
export type Program = {
  name: string;
  spawn(): Promise<Child>;
  /** Waits until the process is ready. Stops the process and rejects if it does not become ready. */
  ready(child: Child): Promise<void>;
};

/** Starts a program and waits until it is ready. */
export async function startProgram(program: Program): Promise<Child> {
  const child = await program.spawn();
  await program.ready(child);
  return child;
}

/** Starts a process that ends with this one at the latest. Throws when the program cannot be started. */
export async function startChild(options: Command): Promise<Child> {
  const [program, ...parameters] = tiedCommand(options);
  const child = spawn(program, parameters, {
    env: options.environment ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A session of its own, so that Ctrl-C only reaches the supervisor, which then stops its children in order.
    detached: true,
  });
  const exit = (): Exit | undefined => {
    const { exitCode: code, signalCode: signal } = child;
    return code === null && signal === null ? undefined : { code, signal };
  };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => options.output(text, stream));
  }
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      // Waits for the last output, but not for long: a grandchild may hold the pipe open.
      const timer = setTimeout(() => resolve({ code, signal }), 200);
      child.once('close', () => {
        clearTimeout(timer);
        resolve({ code, signal });
      });
    });
  });
  await once(child, 'spawn');
  const stop = (patience: number): Promise<Exit> => stopChild(child, exited, options.stopSignal ?? 'SIGTERM', patience);
  return { pid: child.pid ?? 0, exited, exit, stop };
}

/**
 * Polls until the process is ready. Throws when the process ends before; stops it and throws when it is not ready
 * within `patience` milliseconds.
 */
export async function untilReady(child: Child, isReady: () => Promise<boolean>, patience: number): Promise<void> {
  const deadline = Date.now() + patience;
  while (!(await isReady())) {
    if (child.exit()) throw new Error(`it ended with ${describeExit(await child.exited)}`);
    if (Date.now() > deadline) {
      await child.stop(1000);
      throw new Error(`it was not ready within ${patience / 1000} s`);
    }
    await pause(20);
  }
}

/** The full path of a program, as the shell would find it. */
export function findProgram(name: string, path = process.env['PATH'] ?? ''): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** How a process ended, such as "exit status 1" or "signal SIGKILL". */
export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `exit status ${code}` : `signal ${signal}`;
}

/**
 * Wraps the command in setpriv of util-linux, so that the kernel ends the command when this process ends. This process
 * may end before setpriv has made that request; the shell in between therefore only continues while its parent is
 * still this process. Without setpriv (outside Linux) the command runs unchanged.
 */
function tiedCommand({ command, owner, orphanSignal = 'SIGKILL' }: Command): [string, ...string[]] {
  const setpriv = findProgram('setpriv');
  if (setpriv === undefined) {
    if (owner)
      throw new Error('setpriv is missing, which root needs to start a program as another user: install util-linux');
    return [...command];
  }
  const tie = ['--pdeathsig', orphanSignal.slice('SIG'.length)];
  const alive = ['sh', '-c', '[ "$PPID" = "$0" ] && exec "$@"', String(process.pid)];
  return [setpriv, ...(owner ? asUser(owner) : []), ...tie, '--', ...alive, ...command];
}

/** Options of setpriv for another user who may still enter folders that only their owner may enter. */
function asUser({ uid, gid }: { uid: number; gid: number }): string[] {
  const capabilities = ['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override'];
  return [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...capabilities, '--securebits', '+no_setuid_fixup'];
}

async function stopChild(
  child: ChildProcess,
  exited: Promise<Exit>,
  signal: NodeJS.Signals,
  patience: number,
): Promise<Exit> {
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), patience);
  try {
    return await exited;
  } finally {
    clearTimeout(timer);
  }
}
