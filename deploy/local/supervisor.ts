import { setTimeout } from 'node:timers/promises';
import { type Child, describeExit, type Program } from './child.ts';

/** Higher stages are stopped first, so that the gateway drains while the services behind it still respond. */
export const STAGES = { storage: 0, service: 1, edge: 2 } as const;
export type Stage = keyof typeof STAGES;

export type Supervised = Program & { stage: Stage };

export type SupervisorOptions = {
  /** Prints a line for the user. */
  report: (text: string) => void;
  /** Called when a program that had died is ready again. */
  restarted: (name: string) => void;
  clock?: Clock;
};

export type Clock = {
  now(): number;
  /** Rejects when the signal is aborted. */
  pause(milliseconds: number, signal: AbortSignal): Promise<void>;
};

const REAL_CLOCK: Clock = {
  now: Date.now,
  pause: (milliseconds, signal) => setTimeout(milliseconds, undefined, { signal }),
};

// Milliseconds before the first, second … start in a row after processes that ended soon.
const PAUSES = [0, 250, 500, 1000, 1500, 3000, 6000, 10_000];
// After this many milliseconds an earlier failure does not count any more.
const LASTING = 5000;
const FIRST_ATTEMPTS = 3;
// Milliseconds for all stages together, after which SIGKILL follows; a stop may take 10 s.
const STOP_PATIENCE = 9000;
const STAGE_PATIENCE = 3500;

type Entry = { program: Supervised; child: Child | undefined; loop: Promise<void> };

/** Starts programs, restarts those that end, and stops all of them in order. */
export class Supervisor {
  private readonly entries: Entry[] = [];
  private readonly stopping = new AbortController();
  private readonly options: SupervisorOptions;
  private readonly clock: Clock;

  constructor(options: SupervisorOptions) {
    this.options = options;
    this.clock = options.clock ?? REAL_CLOCK;
  }

  /** Starts a program and resolves when it is ready. Rejects after three failed attempts, and while stopping. */
  async run(program: Supervised): Promise<void> {
    this.stopping.signal.throwIfAborted();
    const entry: Entry = { program, child: undefined, loop: Promise.resolve() };
    this.entries.push(entry);
    const start = this.firstStart(entry);
    entry.loop = start.then(
      () => this.keepRunning(entry),
      () => {},
    );
    await start;
  }

  /** The process ID of a program's present process. */
  pid(name: string): number | undefined {
    return this.entries.find(({ program }) => program.name === name)?.child?.pid;
  }

  /** Stops everything within 10 s. Nothing is started afterwards. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('stopping'));
    const deadline = this.clock.now() + STOP_PATIENCE;
    for (const stage of [STAGES.edge, STAGES.service, STAGES.storage]) {
      const rest = deadline - this.clock.now();
      const patience = Math.max(0, stage === STAGES.storage ? rest : Math.min(rest, STAGE_PATIENCE));
      const members = this.entries.filter(({ program }) => STAGES[program.stage] === stage);
      await Promise.all(members.map((entry) => stopEntry(entry, patience)));
    }
  }

  private async firstStart(entry: Entry): Promise<Child> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.start(entry);
      } catch (error) {
        if (attempt === FIRST_ATTEMPTS || this.isStopping()) throw error;
        this.options.report(`Trying again: ${messageOf(error).split('\n', 1)[0]}`);
      }
    }
  }

  private async start(entry: Entry): Promise<Child> {
    const child = await entry.program.spawn();
    entry.child = child;
    if (this.isStopping()) await child.stop(0);
    await entry.program.ready(child);
    return child;
  }

  /** Restarts the process each time that it ends, until the supervisor stops. */
  private async keepRunning(entry: Entry): Promise<void> {
    const { name } = entry.program;
    for (let failures = 0; entry.child; ) {
      const ready = this.clock.now();
      const exit = await entry.child.exited;
      if (this.isStopping()) return;
      failures = this.clock.now() - ready >= LASTING ? 0 : failures + 1;
      this.options.report(`${name} ended (${describeExit(exit)}), starting it again`);
      while (!(await this.startAgain(entry, failures))) failures += 1;
    }
  }

  /** Starts once more, after a pause that grows with the failures in a row. False if another attempt is needed. */
  private async startAgain(entry: Entry, failures: number): Promise<boolean> {
    const { name } = entry.program;
    try {
      await this.clock.pause(PAUSES[Math.min(failures, PAUSES.length - 1)] ?? 0, this.stopping.signal);
      const child = await this.start(entry);
      this.options.report(`${name} is ready again (process ${child.pid})`);
      this.options.restarted(name);
      return true;
    } catch (error) {
      if (this.isStopping()) return true;
      this.options.report(messageOf(error));
      return false;
    }
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }
}

async function stopEntry(entry: Entry, patience: number): Promise<void> {
  await entry.child?.stop(patience);
  await entry.loop;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
