import { type Child, describeExit, type Exit, type Program } from './child.ts';

/** `replaced`: a later reload, or a stop, came before the process was ready. */
export type ReloadResult = 'ready' | 'failed' | 'replaced';

/** How long a process may take to end in order before it is killed; the developer waits for this. */
const STOP_PATIENCE_MS = 200;

/**
 * A program whose process is replaced when its source changes. To the supervisor it is one process that only ends when
 * it is stopped: a start that fails, or a process that ends by itself, is printed and waits for the next reload.
 */
export class ReloadingProgram implements Program, Child {
  readonly name: string;
  readonly exited: Promise<Exit>;
  readonly #program: Program;
  readonly #report: (text: string) => void;
  readonly #firstReady = Promise.withResolvers<void>();
  readonly #end = Promise.withResolvers<Exit>();
  #child: Child | undefined;
  #exit: Exit | undefined;
  /** The number of reloads and stops so far: shows whether another one has begun. */
  #generation = 0;
  /** Processes are stopped and started one after the other, because two of them cannot listen on the same port. */
  #turn: Promise<void> = Promise.resolve();

  constructor(program: Program, report: (text: string) => void) {
    this.name = program.name;
    this.exited = this.#end.promise;
    // A stop may come while nobody waits for it.
    this.#firstReady.promise.catch(() => undefined);
    this.#program = program;
    this.#report = report;
  }

  /** The present process; 0 before the first one. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  exit(): Exit | undefined {
    return this.#exit;
  }

  async spawn(): Promise<Child> {
    this.#child = await this.#program.spawn();
    return this;
  }

  /** Resolves when a process is ready, be it after reloads; rejects when it is stopped before. */
  async ready(): Promise<void> {
    void this.#start(this.#generation);
    await this.#firstReady.promise;
  }

  /** Replaces the process and waits until the new one is ready. */
  async reload(): Promise<ReloadResult> {
    if (this.#exit) return 'replaced';
    this.#generation += 1;
    const generation = this.#generation;
    this.#turn = this.#turn.then(() => this.#replace(generation));
    await this.#turn;
    return this.#start(generation);
  }

  async stop(patience: number): Promise<Exit> {
    this.#generation += 1;
    await this.#turn;
    this.#exit = (await this.#child?.stop(patience)) ?? { code: 0, signal: null };
    this.#end.resolve(this.#exit);
    this.#firstReady.reject(new Error(`${this.name} was stopped`));
    return this.#exit;
  }

  async #replace(generation: number): Promise<void> {
    if (generation !== this.#generation) return;
    await this.#child?.stop(STOP_PATIENCE_MS);
    this.#child = await this.#program.spawn();
  }

  async #start(generation: number): Promise<ReloadResult> {
    const child = this.#child;
    if (child === undefined || generation !== this.#generation) return 'replaced';
    try {
      await this.#program.ready(child);
    } catch (error) {
      if (generation !== this.#generation) return 'replaced';
      this.#report(`${error instanceof Error ? error.message : String(error)}\nWaiting for a change of ${this.name} …`);
      return 'failed';
    }
    if (generation !== this.#generation) return 'replaced';
    this.#firstReady.resolve();
    void this.#reportEnd(child, generation);
    return 'ready';
  }

  async #reportEnd(child: Child, generation: number): Promise<void> {
    const exit = await child.exited;
    if (generation !== this.#generation) return;
    this.#report(`${this.name} ended (${describeExit(exit)})\nWaiting for a change of ${this.name} …`);
  }
}
