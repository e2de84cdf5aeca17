import type { Environment } from '#kit/service/config.ts';
import type { Write } from './command.ts';

/** The environment in which a guildctl command line runs. */
export interface GuildctlOptions {
  /** Environment variables. */
  environment: Environment;
  /** The name of the operating system's user. */
  user: string;
  /** Writes to standard output; `error` writes to standard error. */
  out: Write;
  error: (text: string) => void;
  /** The content of standard input; empty by default. */
  input?: AsyncIterable<unknown>;
  /** True if standard output is a terminal; false by default. */
  isTerminal?: boolean;
}

/** Prints a text and returns the exit status `status`. */
export async function print(write: Write, text: string, status: number): Promise<number> {
  await write(`${text}\n`);
  return status;
}
