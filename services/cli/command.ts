import type { ParseArgsOptionsConfig } from 'node:util';
import type { Connections } from './connections.ts';
import { ConfirmationError, UsageError } from './errors.ts';
import { readDuration, readTime, TIME_FORMATS } from './times.ts';

/** The output of a command: a JSON document for programs, and text for people. */
export interface Output {
  document: unknown;
  text: string;
}

/** Writes a part of standard output. The next part is written after the returned value was awaited. */
export type Write = (text: string) => unknown;

/** An output that is written in parts while it is read, because it may be larger than memory. */
export interface StreamedOutput {
  write(write: Write, isJson: boolean): Promise<void>;
}

/** Standard input, and the messages for a person who waits for a long command. Programs do not read these messages. */
export interface Terminal {
  /** Writes a line about the progress of the command to standard error. */
  report(line: string): void;
  /** Replaces the text that was drawn before; undefined if standard output is not a terminal. */
  redraw: ((text: string) => void) | undefined;
  /** Reads standard input to its end. */
  readInput(): Promise<string>;
}

/** One command of guildctl. */
export interface Command {
  /** The words that select it, such as `keys create`. */
  name: string;
  summary: string;
  /** The arguments that follow the name. */
  usage: string;
  /** Lines of help for arguments that the usage does not explain. */
  notes?: readonly string[];
  /** Its options, in addition to those that every command has. */
  options: ParseArgsOptionsConfig;
  /** The name of its positional argument, such as `KEY_ID`. */
  argument?: string;
  run(input: Input, connections: Connections, terminal: Terminal): Promise<Output | StreamedOutput>;
}

/** A command ran to its end and found a problem: its output is printed, and the exit status is 1. */
export class CommandFailure extends Error {
  readonly output: Output;

  constructor(output: Output) {
    super('the command found a problem');
    this.name = 'CommandFailure';
    this.output = output;
  }
}

/** The option of commands that require confirmation. */
export const YES_OPTION = { yes: { type: 'boolean' } } as const;
/** The option for the operator's note, of commands that change something. */
export const ACTOR_OPTION = { actor: { type: 'string' } } as const;

/** The parsed arguments of a command. Faults are collected, and thrown together by `check`. */
export class Input {
  /** The note of `--actor`; without it the name of the operating system's user. */
  readonly actor: string;
  /** The note of `--actor`; empty without it. */
  readonly note: string;
  /** The positional argument. */
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

  /** The text of a required option. If it is missing, it is a fault, and the text is empty. */
  requiredText(name: string): string {
    const value = this.text(name);
    if (!value) this.fault(`--${name} is required`);
    return value ?? '';
  }

  /** The comma-separated items of an option. */
  list(name: string): string[] | undefined {
    const items = this.text(name)?.split(',');
    return items?.map((item) => item.trim()).filter(Boolean);
  }

  /** The values of an option that may be repeated. */
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

  /** A numeric ID, such as that of a game account. */
  numericId(name: string): number | undefined {
    return this.wholeNumber(name, { min: 1, max: Number.MAX_SAFE_INTEGER });
  }

  /** A required numeric ID. If it is missing or invalid, it is a fault, and the ID is 0. */
  requiredNumericId(name: string): number {
    this.requiredText(name);
    return this.numericId(name) ?? 0;
  }

  /** A time in Unix seconds. A relative time lies before now (`ago`) or after it (`ahead`). */
  time(name: string, direction: 'ago' | 'ahead'): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = readTime(text, direction, Math.floor(Date.now() / 1000));
    if (value === undefined) this.fault(`--${name} must be a time: ${TIME_FORMATS}`);
    return value;
  }

  /** A duration such as `14d`, in seconds. */
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

  /** The name of the one option that was given. If none or several were given, it is a fault. */
  oneOf(...names: string[]): string | undefined {
    const given = names.filter((name) => this.#values[name] !== undefined);
    if (given.length !== 1) this.fault(`give exactly one of ${names.map((name) => `--${name}`).join(', ')}`);
    return given.length === 1 ? given[0] : undefined;
  }

  /** It is a fault if both options were given. */
  forbidBoth(one: string, other: string): void {
    const isGiven = (name: string) => this.flag(name) || this.text(name) !== undefined || this.all(name).length > 0;
    if (isGiven(one) && isGiven(other)) this.fault(`--${one} and --${other} exclude each other`);
  }

  fault(message: string): void {
    this.#faults.push(message);
  }

  /** Throws a UsageError if there are faults. */
  check(): void {
    if (this.#faults.length > 0) throw new UsageError(this.#faults);
  }
}
