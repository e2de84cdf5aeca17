import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Processes whose command line, environment or working directory names a path, as `pid command`; zombies left out. */
export function processesUsing(path: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      const texts = [read(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))];
      texts.push(read(() => readFileSync(`/proc/${pid}/environ`, 'utf8')));
      texts.push(read(() => readlinkSync(`/proc/${pid}/cwd`)));
      return texts.some((text) => text.includes(path));
    })
    .map((pid) => `${pid} ${read(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ')}`);
}

/** The variables of this process's environment that our programs always need. */
export function inheritedEnvironment(): Record<string, string | undefined> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, NODE_COMPILE_CACHE };
}

export type RunningScript = {
  process: ChildProcess;
  /** The text that it has printed so far, on both streams. */
  output(): string;
  /** Its exit status, or the name of the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>;
};

/** Starts a program without a terminal and collects what it prints. */
export function runScript(command: readonly [string, ...string[]], environment: NodeJS.ProcessEnv): RunningScript {
  const [program, ...parameters] = command;
  const child = spawn(program, parameters, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? code));
  });
  return { process: child, output: () => text, ended };
}

function read(get: () => string): string {
  try {
    return get();
  } catch {
    // The process has ended, or belongs to another user.
    return '';
  }
}
