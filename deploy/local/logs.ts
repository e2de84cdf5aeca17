import { appendFileSync, chmodSync, existsSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { prettyFactory } from 'pino-pretty';

const LIMIT = 5 * 1024 * 1024;
const REMEMBERED = 4096;

/** A log file of bounded size: one that is full becomes `NAME.log.1` in place of the one before. */
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
      // A full disk costs log lines, not the processes that wrote them.
    }
  }

  /** The last lines that this process wrote, for an error message. */
  lastLines(count: number): string {
    return this.recent.trimEnd().split('\n').slice(-count).join('\n');
  }
}

const WORTH_SHOWING = /"level":(?:[456]0|"(?:warn|error|fatal)")/;
const pretty = prettyFactory({ colorize: true, ignore: 'pid,hostname,name,service', singleLine: true });

type LoggedError = { message?: unknown; cause?: LoggedError };

/** A log line with what its error says in place of the whole error: the stack is in the log file. */
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

/** Picks the warnings and errors out of a stream of JSON log lines, one line each, and makes them readable in a terminal. */
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
