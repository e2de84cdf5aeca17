import type { ParseArgsOptionsConfig } from 'node:util';
import type { Connections } from './connections.ts';

/** What a command says: a document for programs, and text for people. */
export interface Output {
  document: unknown;
  text: string;
}

/** For whoever waits in front of a long command; nothing that a program reads. */
export interface Screen {
  /** Tells how far the command is, in a line. */
  tell(line: string): void;
  /** Shows a text in place of the one before; undefined where there is no terminal for it. */
  redraw: ((text: string) => void) | undefined;
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
  run(input: Input, connections: Connections, screen: Screen): Promise<Output>;
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

type Values = Readonly<Record<string, unknown>>;

/** What was given on the command line. Faults are gathered and thrown by `check`. */
export class Input {
  /** Who asks. */
  readonly actor: string;
  /** The one argument that is not an option. */
  readonly argument: string | undefined;
  readonly #values: Values;
  readonly #faults: string[] = [];

  constructor(values: Values, argument: string | undefined, user: string) {
    this.#values = values;
    this.argument = argument;
    this.actor = this.text('actor') ?? user;
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
