import type { ParseArgsOptionsConfig } from 'node:util';
import type { Connections } from './connections.ts';
import { readDuration, readTime, TIME_FORMATS } from './times.ts';

/** What a command says: a document for programs, and text for people. */
export interface Output {
  document: unknown;
  text: string;
}

/** Writes a part of standard output; what it returns is awaited before more is written. */
export type Write = (text: string) => unknown;

/** An output that is written in parts while it is read, since it may be larger than memory. */
export interface StreamedOutput {
  write(write: Write, isJson: boolean): Promise<void>;
}

/** For whoever waits in front of a long command; nothing that a program reads. */
export interface Screen {
  /** Tells how far the command is, in a line. */
  tell(line: string): void;
  /** Shows a text in place of the one before; undefined where there is no terminal for it. */
  redraw: ((text: string) => void) | undefined;
  /** Everything on standard input. */
  readInput(): Promise<string>;
}

/** One command of guildctl. */
export interface Command {
  /** As it is typed, such as `keys create`. */
  name: string;
  summary: string;
  /** What follows the name. */
  usage: string;
  /** Lines of help about what is not plain from the usage. */
  notes?: readonly string[];
  /** Beside those that every command takes. */
  options: ParseArgsOptionsConfig;
  /** The one argument that is not an option, such as `KEY_ID`. */
  argument?: string;
  run(input: Input, connections: Connections, screen: Screen): Promise<Output | StreamedOutput>;
}

/** A command line that can not be understood; `faults` lists all that is wrong with it. */
export class UsageError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'UsageError';
    this.faults = faults;
  }
}

/** A command that was not confirmed with `--yes`: it says what it would do, and nothing was changed. */
export class ConfirmationError extends Error {
  constructor(consequence: string) {
    super(`This ${consequence}. Nothing was changed. Repeat the command with --yes to do it`);
    this.name = 'ConfirmationError';
  }
}

/** A command that did what was asked and found what it must fail for: its output is printed, and the exit status is 1. */
export class CommandFailure extends Error {
  readonly output: Output;

  constructor(output: Output) {
    super('the command found a failure');
    this.output = output;
  }
}

/** The option of commands that require confirmation. */
export const YES_OPTION = { yes: { type: 'boolean' } } as const;

type Values = Readonly<Record<string, unknown>>;

/** What was given on the command line. Faults are gathered and thrown by `check`. */
export class Input {
  /** Who asks, as they say: what the audit holds beside the operator. The user of the operating system by default. */
  readonly actor: string;
  /** What was given as `--actor`; empty for nothing. */
  readonly note: string;
  /** The one argument that is not an option. */
  readonly argument: string | undefined;
  readonly #values: Values;
  readonly #faults: string[] = [];

  constructor(values: Values, argument: string | undefined, user: string) {
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

  /** A text that must be given; empty where it is not, which `check` throws. */
  requiredText(name: string): string {
    const value = this.text(name);
    if (!value) this.fault(`--${name} is required`);
    return value ?? '';
  }

  /** Parted by commas; undefined when left out. */
  list(name: string): string[] | undefined {
    const given = this.text(name)?.split(',');
    return given?.map((item) => item.trim()).filter(Boolean);
  }

  /** An option that may be given several times. */
  all(name: string): string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.map(String) : [];
  }

  wholeNumber(name: string, { min, max }: { min: number; max: number }): number | undefined {
    const given = this.text(name);
    if (given === undefined) return undefined;
    const value = /^[0-9]+$/.test(given) ? Number(given) : Number.NaN;
    if (value >= min && value <= max) return value;
    this.fault(`--${name} must be a whole number from ${min} to ${max}`);
    return undefined;
  }

  /**
   * A time in Unix seconds; a relative one lies before now (`ago`) or after it (`ahead`). undefined when left out, and
   * a fault when it is no time.
   */
  time(name: string, direction: 'ago' | 'ahead'): number | undefined {
    const given = this.text(name);
    if (given === undefined) return undefined;
    const value = readTime(given, direction, Math.floor(Date.now() / 1000));
    if (value === undefined) this.fault(`--${name} must be a time: ${TIME_FORMATS}`);
    return value;
  }

  /** A duration such as `14d` in seconds. */
  duration(name: string): number | undefined {
    const given = this.text(name);
    if (given === undefined) return undefined;
    const value = readDuration(given);
    if (value === undefined) this.fault(`--${name} must be a duration, such as 90s, 30m, 1h, 14d or 2w`);
    return value;
  }

  /** Throws a ConfirmationError unless `--yes` was given; `consequence` continues the sentence "This …". */
  confirm(consequence: string): void {
    if (!this.flag('yes')) throw new ConfirmationError(consequence);
  }

  /** Exactly one of the options; undefined, and a fault, when it is none or several. */
  oneOf(...names: string[]): string | undefined {
    const given = names.filter((name) => this.#values[name] !== undefined);
    if (given.length !== 1) this.fault(`give exactly one of ${names.map((name) => `--${name}`).join(', ')}`);
    return given.length === 1 ? given[0] : undefined;
  }

  /** At most one of the options. */
  notBoth(one: string, other: string): void {
    const given = [one, other].filter((name) => this.#values[name] !== undefined && !isEmptyList(this.#values[name]));
    if (given.length > 1) this.fault(`--${one} and --${other} exclude each other`);
  }

  fault(message: string): void {
    this.#faults.push(message);
  }

  /** Throws a UsageError with all faults so far. */
  check(): void {
    if (this.#faults.length > 0) throw new UsageError(this.#faults);
  }
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
