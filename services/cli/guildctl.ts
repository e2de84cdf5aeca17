import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { ApiError, type Fault } from '#kit/errors.ts';
import { redactKeys } from '#kit/security/redact.ts';
import { ConfigError, type Environment } from '#kit/service/config.ts';
import {
  type Command,
  CommandFailure,
  ConfirmationError,
  Input,
  type Output,
  type Screen,
  UsageError,
  type Write,
} from './command.ts';
import { COMMANDS } from './commands.ts';
import { ConnectionError, Connections, explain } from './connections.ts';
import { UnfinishedError } from './erasing.ts';

export interface Surroundings {
  environment: Environment;
  /** The operating system's user: who asks, where `--actor` does not say. */
  user: string;
  /** Standard output and standard error, a text at a time. */
  out: Write;
  error: (text: string) => void;
  /** Standard input; empty when left out. */
  input?: AsyncIterable<unknown>;
  /** Whether a person looks at standard output. */
  isTerminal?: boolean;
}

const COMMON = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } satisfies ParseArgsOptionsConfig;

/**
 * Runs one command line. A failure repeats what was typed, but no key that was typed by mistake. Returns the exit
 * status: 0, or 1 after a failure was told on standard error.
 */
export async function guildctl(words: readonly string[], surroundings: Surroundings): Promise<number> {
  const { out } = surroundings;
  const error = (text: string) => surroundings.error(redactKeys(text));
  const command = COMMANDS.find(({ name }) => name === words.slice(0, name.split(' ').length).join(' '));
  if (!command) {
    if (words.some((word) => word === '--help' || word === '-h')) return say(out, overview(), 0);
    const typed = words.slice(0, 2).join(' ');
    const problem = /^(?:-|$)/.test(typed) ? 'a command is required' : `there is no command "${typed}"`;
    return say(error, `guildctl: ${problem}\n\n${overview()}`, 1);
  }
  try {
    return await runCommand(command, words.slice(command.name.split(' ').length), surroundings);
  } catch (thrown) {
    return await say(error, `guildctl: ${reason(thrown, command)}`, 1);
  }
}

async function runCommand(command: Command, rest: string[], surroundings: Surroundings): Promise<number> {
  const { values, positionals } = read(command, rest);
  if (values['help']) return say(surroundings.out, help(command), 0);
  const input = new Input(values, positionals[0], surroundings.user);
  const connections = new Connections(surroundings.environment);
  connections.note = input.note;
  try {
    const isJson = values['json'] === true;
    const print = (output: Output, status: number) =>
      say(surroundings.out, isJson ? JSON.stringify(output.document) : output.text, status);
    const output = await command
      .run(input, connections, screenOf(surroundings, isJson))
      .catch((error: unknown) => (error instanceof CommandFailure ? error : Promise.reject(error)));
    if (output instanceof CommandFailure) return await print(output.output, 1);
    if ('document' in output) return await print(output, 0);
    await output.write(surroundings.out, isJson);
    return 0;
  } finally {
    connections.close();
  }
}

const CLEAR = '\u001b[H\u001b[2J';

function screenOf({ out, error, input, isTerminal = false }: Surroundings, isForPrograms: boolean): Screen {
  const readInput = () => readAll(input ?? []);
  if (isForPrograms) return { tell: () => undefined, redraw: undefined, readInput };
  const redraw = (text: string) => void out(`${CLEAR}${text}\n`);
  return { tell: (line) => error(`${line}\n`), redraw: isTerminal ? redraw : undefined, readInput };
}

/** Of standard input: a report of some 100,000 findings. */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

async function readAll(input: AsyncIterable<unknown> | Iterable<unknown>): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of input) {
    const bytes = Buffer.from(part as Buffer);
    length += bytes.length;
    if (length > MAX_INPUT_BYTES) throw new UsageError(['standard input holds more than 64 MiB']);
    parts.push(bytes);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Throws a UsageError for what the command does not take. */
function read({ options, argument }: Command, words: string[]) {
  try {
    const parsed = parseArgs({ args: words, options: { ...options, ...COMMON }, allowPositionals: true });
    const [, surplus] = argument === undefined ? [undefined, ...parsed.positionals] : parsed.positionals;
    if (surplus !== undefined) throw new UsageError([`"${surplus}" is one argument too many`]);
    return parsed;
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError([error.message]);
    throw error;
  }
}

async function say(write: Write, text: string, status: number): Promise<number> {
  await write(`${text}\n`);
  return status;
}

function reason(error: unknown, command: Command): string {
  if (error instanceof UsageError) {
    return `${error.faults.join('\n          ')}\n\n${usage(command)}\nMore with --help.`;
  }
  for (const kind of [ConfigError, ConfirmationError, ConnectionError, UnfinishedError])
    if (error instanceof kind) return error.message;
  if (!(error instanceof ApiError))
    return `something went wrong: ${error instanceof Error ? error.message : 'unknown'}`;
  const faults = (error.details['errors'] as Fault[] | undefined) ?? [];
  return faults.length > 0 ? faults.map(faultText).join('\n          ') : explain(error);
}

/** Options that are not named like their fields. */
const OPTIONS: Record<string, string> = {
  guild_id: '--guild',
  guildId: '--guild',
  account: 'the account',
  key_id: 'KEY_ID',
  ip_allowlist: '--allow-ip',
  grace_seconds: '--grace',
  servers: '--server',
};

/** `request.ip_allowlist[1]` as the second `--allow-ip`. */
function faultText({ path, message }: Fault): string {
  const [, field = path, index] = /^request\.(\w+)(?:\[(\d+)\])?/.exec(path) ?? [];
  const option = OPTIONS[field] ?? `--${field.replaceAll('_', '-')}`;
  return `${option}${index === undefined ? '' : ` (number ${Number(index) + 1})`} ${message}`;
}

function usage({ name, usage }: Command): string {
  return `Usage: guildctl ${name} ${usage} [--json]`;
}

function help(command: Command): string {
  const notes = command.notes?.map((line) => `\n  ${line}`).join('') ?? '';
  const common = '\n  --json           print one JSON document and nothing else';
  return `guildctl ${command.name}: ${command.summary}\n\n${usage(command)}\n${notes}${common}`;
}

function overview(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `Usage: guildctl COMMAND [OPTIONS] [--json] [--help]\n\n${lines.join('\n')}`;
}
