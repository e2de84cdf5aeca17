import { appendFileSync, chmodSync, existsSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { prettyFactory } from 'pino-pretty';

const LIMIT = 5 * 1024 * 1024;
const REMEMBERED = 4096;

/** A log file of bounded size: a full one is renamed to `NAME.log.1`, which replaces the previous one. */
export class LogFile {
  readonly path: string;
  private readonly limit: number;
  private size: number;
  private recent = '';

  constructor(path: string, limit = LIMIT) {
    this.path = path;
    this.limit = limit;
    if (existsSync(path)) chmodSync(path, 0o600);
    else writeFileSync(path, '', { mode: 0o600 });
    this.size = statSync(path).size;
  }

  write(text: string): void {
    this.recent = (this.recent + text).slice(-REMEMBERED);
    try {
      if (this.size + text.length > this.limit) {
        renameSync(this.path, `${this.path}.1`);
        this.size = 0;
      }
      appendFileSync(this.path, text, { mode: 0o600 });
      this.size += Buffer.byteLength(text);
    } catch {
      // A full disk must not stop the processes, so these lines are lost.
    }
  }

  /** The last lines that this process wrote, for an error message. */
  lastLines(count: number): string {
    return this.recent.trimEnd().split('\n').slice(-count).join('\n');
  }
}

/** Warnings and errors, and lines that a process marks with `"show":true`. */
const WORTH_SHOWING = /"level":(?:[456]0|"(?:warn|error|fatal)")|"show":true/;
const pretty = prettyFactory({ colorize: true, ignore: 'pid,hostname,name,service,show', singleLine: true });

type LoggedError = { message?: unknown; cause?: LoggedError };

/** A log line with the messages of its error instead of the whole error; the log file has the stack. */
function withoutStack(line: string): string {
  try {
    const { err, ...others } = JSON.parse(line) as { err?: LoggedError };
    return err === undefined ? line : JSON.stringify({ ...others, reason: messagesOf(err) });
  } catch {
    return line;
  }
}

function messagesOf({ message, cause }: LoggedError): string {
  return cause === undefined ? String(message) : `${String(message)}: ${messagesOf(cause)}`;
}

/** Prints the warnings, errors and marked lines of a stream of JSON log lines, one line each, formatted if for a terminal. */
export class Highlights {
  private unfinished = '';
  private readonly show: (line: string) => void;

  constructor(name: string, print: (text: string) => void, isTerminal: boolean) {
    this.show = (line) => {
      if (!WORTH_SHOWING.test(line)) return;
      const short = withoutStack(line);
      print(isTerminal ? `${name}: ${pretty(short).trimEnd()}` : short);
    };
  }

  write(text: string): void {
    const lines = (this.unfinished + text).split('\n');
    this.unfinished = lines.pop() ?? '';
    for (const line of lines) this.show(line);
  }
}
