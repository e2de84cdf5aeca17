import { join } from 'node:path';
import { type Program, startChild, untilReady } from './child.ts';
import type { Development } from './development.ts';
import { Highlights, type LogFile } from './logs.ts';

export type NodeProgramOptions = {
  name: string;
  /** Full path of the main file. */
  main: string;
  environment: NodeJS.ProcessEnv;
  /** URLs that respond with 200 when the process is ready. */
  readyUrls: readonly string[];
  /** Receives everything that the process prints. */
  log: LogFile;
  dataFolder: string;
  isTerminal: boolean;
  /** Prints the warnings and errors that the process logs. */
  report: (text: string) => void;
  /** Set by `npm run dev`. */
  development: Development | undefined;
};

const START_PATIENCE_MS = 60_000;
const RESPONSE_TIMEOUT_MS = 2000;

/** One of our own programs, run by the same Node as this process. */
export function nodeProgram(options: NodeProgramOptions): Program {
  const { name, log, development } = options;
  const highlights = new Highlights(name, options.report, options.isTerminal);
  return {
    name,
    spawn: async () =>
      startChild({
        command: [process.execPath, ...((await development?.nodeOptions(name)) ?? []), options.main],
        environment: {
          NODE_COMPILE_CACHE: join(options.dataFolder, 'compile-cache'),
          ...options.environment,
          ...development?.environment(name),
        },
        output: (text, stream) => {
          log.write(text);
          // Logs go to standard output. Standard error has what Node itself prints when a process breaks.
          if (stream === 'stdout') highlights.write(text);
        },
      }),
    ready: async (child) => {
      try {
        await untilReady(child, () => areOk(options.readyUrls), START_PATIENCE_MS);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`${name}: ${reason}, see ${log.path}\n${withoutNodeFrames(log.lastLines(40))}`, {
          cause: error,
        });
      }
    },
  };
}

/** The lines without the stack frames of Node itself, which would hide the file and line of a syntax error. */
function withoutNodeFrames(lines: string): string {
  return lines
    .split('\n')
    .filter((line) => !/^\s+at .*\bnode:internal\//.test(line))
    .slice(-15)
    .join('\n');
}

async function areOk(urls: readonly string[]): Promise<boolean> {
  return (await Promise.all(urls.map(isOk))).every(Boolean);
}

async function isOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
