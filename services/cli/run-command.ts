import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { ApiError, type Fault } from '#kit/errors.ts';
import { ConfigError } from '#kit/service/config.ts';
import { type Command, CommandFailure, Input, type Output, type Terminal } from './command.ts';
import { Connections } from './connections.ts';
import { ConfirmationError, ConnectionError, UnfinishedError, UsageError } from './errors.ts';
import { explain } from './explain.ts';
import { type GuildctlOptions, print } from './invocation.ts';

/** A command and the words that follow its name. */
export interface CommandLine {
  command: Command;
  summary: string;
  rest: string[];
}

const COMMON_OPTIONS = {
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} satisfies ParseArgsOptionsConfig;

/** Runs a command. Returns the exit status: 0, or 1 after a failure was reported on standard error. */
export async function runCommandLine(line: CommandLine, options: GuildctlOptions): Promise<number> {
  try {
    return await runCommand(line, options);
  } catch (thrown) {
    return await print(options.error, `guildctl: ${explainFailure(thrown, line.command)}`, 1);
  }
}

async function runCommand({ command, summary, rest }: CommandLine, options: GuildctlOptions): Promise<number> {
  const { values, positionals } = parse(command, rest);
  if (values['help']) return print(options.out, help(command, summary), 0);
  const input = new Input({ values, argument: positionals[0], user: options.user });
  const connections = new Connections({ environment: options.environment, note: input.note });
  const isJson = values['json'] === true;
  const printOutput = (output: Output, status: number) =>
    print(options.out, isJson ? JSON.stringify(output.document) : output.text, status);
  try {
    const output = await command.run(input, connections, terminalOf(options, isJson));
    if ('document' in output) return await printOutput(output, 0);
    await output.write(options.out, isJson);
    return 0;
  } catch (error) {
    if (error instanceof CommandFailure) return await printOutput(error.output, 1);
    throw error;
  } finally {
    connections.close();
  }
}

/** Escape sequences that move the cursor to the top left and clear the terminal. */
const CLEAR = '\u001b[H\u001b[2J';

/**
 * Returns the terminal of a command. With JSON output nothing is reported or redrawn, because a program reads the
 * output.
 */
function terminalOf({ out, error, input, isTerminal = false }: GuildctlOptions, isJson: boolean): Terminal {
  const readInput = () => readAll(input ?? []);
  if (isJson) return { report: () => undefined, redraw: undefined, readInput };
  const redraw = (text: string) => void out(`${CLEAR}${text}\n`);
  return { report: (line) => error(`${line}\n`), redraw: isTerminal ? redraw : undefined, readInput };
}

/**
 * The maximum size of standard input, in bytes; the report of a secret scanner with about 100,000 leaked API keys is
 * smaller.
 */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

async function readAll(input: AsyncIterable<unknown> | Iterable<unknown>): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of input) {
    const bytes = Buffer.from(part as Buffer);
    length += bytes.length;
    if (length > MAX_INPUT_BYTES) throw new UsageError(['standard input is larger than 64 MiB']);
    parts.push(bytes);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Parses the arguments of a command. Throws a UsageError for unknown options and surplus arguments. */
function parse({ options, argument }: Command, words: string[]) {
  try {
    const parsed = parseArgs({ args: words, options: { ...options, ...COMMON_OPTIONS }, allowPositionals: true });
    const surplus = parsed.positionals[argument === undefined ? 0 : 1];
    if (surplus !== undefined) throw new UsageError([`"${surplus}" is one argument too many`]);
    return parsed;
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError([error.message]);
    throw error;
  }
}

function explainFailure(error: unknown, command: Command): string {
  if (error instanceof UsageError) {
    return `${error.faults.join('\n          ')}\n\n${usage(command)}\nMore with --help.`;
  }
  for (const kind of [ConfigError, ConfirmationError, ConnectionError, UnfinishedError])
    if (error instanceof kind) return error.message;
  if (!(error instanceof ApiError)) return `unexpected error: ${error instanceof Error ? error.message : 'unknown'}`;
  const faults = (error.details['errors'] as Fault[] | undefined) ?? [];
  return faults.length > 0 ? faults.map((fault) => faultText(fault, command)).join('\n          ') : explain(error);
}

/** The command-line options whose name differs from the request field. */
const OPTION_NAMES: Record<string, string> = {
  guild_id: '--guild',
  account: 'the account',
  ip_allowlist: '--allow-ip',
  grace_seconds: '--grace',
  servers: '--server',
  event_ids: '--event',
};

/**
 * Formats a validation error with the name of the option or argument, such as the second `--allow-ip` for
 * `request.ip_allowlist[1]`.
 */
function faultText({ path, message }: Fault, command: Command): string {
  const [, field = path, index] = /^request\.(\w+)(?:\[(\d+)\])?/.exec(path) ?? [];
  const snakeCase = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const number = index === undefined ? '' : ` (number ${Number(index) + 1})`;
  return `${typedName(snakeCase, command)}${number} ${message}`;
}

/** Returns what a command line calls a field of a request: its option, or the command's argument if the field is the ID. */
function typedName(field: string, { argument, options }: Command): string {
  const option = field.replaceAll('_', '-');
  const isArgument = argument !== undefined && (field === 'id' || field === argument.toLowerCase());
  return isArgument && !(option in options) ? argument : (OPTION_NAMES[field] ?? `--${option}`);
}

function usage({ name, usage }: Command): string {
  return `Usage: guildctl ${name} ${usage} [--json]`;
}

function help(command: Command, summary: string): string {
  const notes = command.notes?.map((line) => `\n  ${line}`).join('') ?? '';
  const common = '\n  --json           print one JSON document and nothing else';
  return `guildctl ${command.name}: ${summary}\n\n${usage(command)}\n${notes}${common}`;
}
