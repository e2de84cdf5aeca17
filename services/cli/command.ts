import type { ParseArgsOptionsConfig } from 'node:util';
import type { Connections } from './connections.ts';
import { ConfirmationError, UsageError } from './errors.ts';
import { readDuration, readTime, TIME_FORMATS } from './times.ts';

/** The output of a command: a JSON document for programs, and text for people. */
export interface Output {
  document: unknown;
  text: string;
}

/** Writes a part of standard output. The caller awaits the returned value before it writes the next part. */
export type Write = (text: string) => unknown;

/**
 * The output of a command that is written in parts while the data arrives from the services, because the whole output
 * may not fit into memory.
 */
export interface StreamedOutput {
  write(write: Write, isJson: boolean): Promise<void>;
}

/** Standard input, and the messages for a person who waits for a long command. With `--json` no messages are shown. */
export interface Terminal {
  /** Writes a line about the progress of the command to standard error. */
  report(line: string): void;
  /** Replaces the text that `redraw` drew before; undefined if standard output is not a terminal. */
  redraw: ((text: string) => void) | undefined;
  /** Reads standard input to its end. */
  readInput(): Promise<string>;
}

/** One command of guildctl. */
export interface Command {
  /** The words that select the command, such as `keys create`. */
  name: string;
  /** The arguments that follow the command's name, for the help text. */
  usage: string;
  /** Lines of the help text about arguments that the usage line does not explain. */
  notes?: readonly string[];
  /** The command's options, in addition to those that every command has. */
  options: ParseArgsOptionsConfig;
  /** The name of the command's positional argument, such as `KEY_ID`. */
  argument?: string;
  run(input: Input, connections: Connections, terminal: Terminal): Promise<Output | StreamedOutput>;
}

/**
 * Thrown by a command that ran to its end and found a problem. Its output is printed all the same, and the exit status
 * is 1.
 */
export class CommandFailure extends Error {
  readonly output: Output;

  constructor(output: Output) {
    super('the command found a problem');
    this.name = 'CommandFailure';
    this.output = output;
  }
}

/** The option `--yes` of commands that require confirmation. */
export const YES_OPTION = { yes: { type: 'boolean' } } as const;
/** The option `--actor` of commands that change something: a free text that is written into the audit. */
export const ACTOR_OPTION = { actor: { type: 'string' } } as const;

/**
 * The parsed arguments of a command. Mistakes in the arguments are collected, and `check` throws all of them together.
 */
export class Input {
  /**
   * Who makes the change: the text of the option `--actor`, or the name of the operating system's user if the option is
   * missing.
   */
  readonly actor: string;
  /** The text of the option `--actor`, for the audit; empty if the option is missing. */
  readonly note: string;
  /** The positional argument that was passed to the command; undefined if there was none. */
  readonly argument: string | undefined;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #faults: string[] = [];

  constructor({
    values,
    argument,
    user,
  }: { values: Record<string, unknown>; argument?: string | undefined; user: string }) {
    this.#values = values;
    this.argument = argument;
    this.note = this.text('actor') ?? '';
    this.actor = this.note || user;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** Returns the text of a required option. If the option is missing, adds a fault and returns an empty text. */
  requiredText(name: string): string {
    const value = this.text(name);
    if (!value) this.fault(`--${name} is required`);
    return value ?? '';
  }

  /** Returns the comma-separated items of an option; undefined without the option. */
  list(name: string): string[] | undefined {
    const items = this.text(name)?.split(',');
    return items?.map((item) => item.trim()).filter(Boolean);
  }

  /** Returns the values of an option that may be repeated. */
  all(name: string): string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.map(String) : [];
  }

  wholeNumber(name: string, { min, max }: { min: number; max: number }): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    this.fault(`--${name} must be a whole number from ${min} to ${max}`);
    return undefined;
  }

  /** Returns the value of an option as a numeric ID, such as that of a game account; undefined without the option. */
  numericId(name: string): number | undefined {
    return this.wholeNumber(name, { min: 1, max: Number.MAX_SAFE_INTEGER });
  }

  /**
   * Returns the value of a required option as a numeric ID. If the ID is missing or invalid, adds a fault and returns
   * 0.
   */
  requiredNumericId(name: string): number {
    this.requiredText(name);
    return this.numericId(name) ?? 0;
  }

  /**
   * Returns the value of an option as a time in Unix seconds. A relative time lies before now (`ago`) or after now
   * (`ahead`).
   */
  time(name: string, direction: 'ago' | 'ahead'): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = readTime(text, direction, Math.floor(Date.now() / 1000));
    if (value === undefined) this.fault(`--${name} must be a time: ${TIME_FORMATS}`);
    return value;
  }

  /** Returns the value of an option, a duration such as `14d`, in seconds. */
  duration(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = readDuration(text);
    if (value === undefined) this.fault(`--${name} must be a duration, such as 90s, 30m, 1h, 14d or 2w`);
    return value;
  }

  /** Throws a ConfirmationError unless `--yes` was given; `consequence` completes the sentence "This …". */
  confirm(consequence: string): void {
    if (!this.flag('yes')) throw new ConfirmationError(consequence);
  }

  /** Returns the name of the one option that was given. If none or several of `names` were given, adds a fault. */
  oneOf(...names: string[]): string | undefined {
    const given = names.filter((name) => this.#values[name] !== undefined);
    if (given.length !== 1) this.fault(`give exactly one of ${names.map((name) => `--${name}`).join(', ')}`);
    return given.length === 1 ? given[0] : undefined;
  }

  /** Adds a fault if both options were given. */
  forbidBoth(one: string, other: string): void {
    const isGiven = (name: string) => this.flag(name) || this.text(name) !== undefined || this.all(name).length > 0;
    if (isGiven(one) && isGiven(other)) this.fault(`--${one} and --${other} exclude each other`);
  }

  fault(message: string): void {
    this.#faults.push(message);
  }

  /** Throws a UsageError if any faults were found in the arguments. */
  check(): void {
    if (this.#faults.length > 0) throw new UsageError(this.#faults);
  }
}
