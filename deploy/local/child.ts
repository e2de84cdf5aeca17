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
  /** What ends it in order. */
  stopSignal?: NodeJS.Signals;
  /** What the kernel sends it when this process dies, however that happens. */
  orphanSignal?: NodeJS.Signals;
};

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type Child = {
  pid: number;
  /** Settles when the process has ended; never rejects. */
  exited: Promise<Exit>;
  /** How it ended; undefined while it lives. */
  exit(): Exit | undefined;
  /** Asks the process to end, kills it after so many milliseconds, and waits until it is gone. */
  stop(patience: number): Promise<Exit>;
};

/** Something that runs as a process: how it is started, and how one knows that it can be used. */
export type Program = {
  name: string;
  spawn(): Promise<Child>;
  /** Waits until the process can be used. Rejects, with the process stopped, when that does not come about. */
  ready(child: Child): Promise<void>;
};

/** Starts a program and waits until it can be used. */
export async function startProgram(program: Program): Promise<Child> {
  const child = await program.spawn();
  await program.ready(child);
  return child;
}

/** Starts a process that lives no longer than this one. Throws when the program can't be started. */
export async function startChild(options: Command): Promise<Child> {
  const [program, ...parameters] = tiedCommand(options);
  const child = spawn(program, parameters, {
    env: options.environment ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A session of its own: Ctrl-C reaches the supervisor alone, which then stops its children in order.
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
      // What was printed last may still be on its way; a grandchild that holds the pipe must not delay the news.
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
 * Asks again and again until the process can be used. Throws when it ends before, and stops it and throws when it
 * takes longer than so many milliseconds.
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

/** How a process ended, for people: "exit status 1" or "signal SIGKILL". */
export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `exit status ${code}` : `signal ${signal}`;
}

/**
 * The command wrapped in setpriv of util-linux: the kernel then ends it with its parent. The shell in between
 * covers the moment before that took hold: it goes on only while its parent is still this process. Where there is no
 * setpriv (outside Linux) the command runs as it is.
 */
function tiedCommand({ command, owner, orphanSignal = 'SIGKILL' }: Command): [string, ...string[]] {
  const setpriv = findProgram('setpriv');
  if (setpriv === undefined) {
    if (owner)
      throw new Error('setpriv, by which root starts a program as another user, is missing (package util-linux)');
    return [...command];
  }
  const tie = ['--pdeathsig', orphanSignal.slice('SIG'.length)];
  const alive = ['sh', '-c', '[ "$PPID" = "$0" ] && exec "$@"', String(process.pid)];
  return [setpriv, ...(owner ? asUser(owner) : []), ...tie, '--', ...alive, ...command];
}

/** Options of setpriv for another user who may still pass folders that are closed to him. */
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
