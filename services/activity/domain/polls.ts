import { performance } from 'node:perf_hooks';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { LeasedCommand } from '../store/commands.ts';
import { type FetchRequest, readLeaseEnds } from '../store/leases.ts';
import { serverKey } from '../store/servers.ts';
import type { Leases } from './leases.ts';

/** The maximum time until a waiting poll checks for commands again, in case a notification of new commands was lost. */
const MAX_RECHECK_MS = 5_000;
/** The delay of a check after the end of a command's lease, so that the lease has surely ended. */
const LEASE_END_MARGIN_MS = 5;
/**
 * The pause before the next check if a lease has ended, but another transaction still locks the command, for example to
 * acknowledge it.
 */
const LOCKED_COMMAND_RETRY_MS = 50;
const MAX_POLLS_PER_ROUND = 500;

interface Poll extends FetchRequest {
  /** When the poll stops waiting for commands, on the clock of performance.now(). */
  deadline: number;
  timer: NodeJS.Timeout | undefined;
  signal: AbortSignal;
  onAbort: () => void;
  resolve: (commands: LeasedCommand[]) => void;
  reject: (error: unknown) => void;
}

export interface PollsOptions {
  database: Queryable;
  leases: Leases;
  /** The maximum number of polls that wait for commands; further polls are answered immediately. */
  maxWaiting: number;
}

/**
 * Handles long polls of game servers for commands. Polls are checked in rounds: one statement leases commands for all
 * polls that are due.
 */
export class Polls implements Part {
  readonly name = 'polls';
  readonly #options: PollsOptions;
  readonly #byGuild = new Map<string, Set<Poll>>();
  /** The polls that the next round checks. */
  readonly #due = new Set<Poll>();
  /** The polls that are being checked in the current round. */
  readonly #round = new Set<Poll>();
  #isRunning = false;
  #isDraining = false;
  #size = 0;

  constructor(options: PollsOptions) {
    this.#options = options;
  }

  /** The number of polls that are not answered yet. */
  get size(): number {
    return this.#size;
  }

  /**
   * Returns the commands for a game server as soon as there are any. Returns an empty list when the waiting time is
   * over, when the service drains, or when the client has disconnected (`signal`).
   */
  poll(request: FetchRequest, waitMs: number, signal: AbortSignal): Promise<LeasedCommand[]> {
    if (signal.aborted) return Promise.resolve([]);
    const canWait = !this.#isDraining && this.#size < this.#options.maxWaiting;
    const deadline = performance.now() + (canWait ? waitMs : 0);
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#finish(poll, []);
      const poll: Poll = { ...request, deadline, timer: undefined, signal, onAbort, resolve, reject };
      // The poll is registered before its first check, so that a command sent after this check wakes the poll.
      this.#open(poll);
      this.#scheduleCheck(poll);
    });
  }

  /** Checks for commands for all polls of the guilds in `guildIds`; without `guildIds`, for the polls of all guilds. */
  wake(guildIds: readonly string[] = [...this.#byGuild.keys()]): void {
    for (const guildId of guildIds) for (const poll of this.#byGuild.get(guildId) ?? []) this.#scheduleCheck(poll);
  }

  /** Ends all waiting polls; from now on no poll waits. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const poll of [...this.#byGuild.values()].flatMap((polls) => [...polls])) {
      poll.deadline = 0;
      // A poll of the current round ends with the round, because commands may have been leased for it.
      if (!this.#round.has(poll)) this.#finish(poll, []);
    }
  }

  #open(poll: Poll): void {
    const others = this.#byGuild.get(poll.guildId);
    if (others) others.add(poll);
    else this.#byGuild.set(poll.guildId, new Set([poll]));
    this.#size++;
    poll.signal.addEventListener('abort', poll.onAbort, { once: true });
  }

  /** Removes a poll from the open polls. Returns false if the poll was already removed. */
  #close(poll: Poll): boolean {
    const others = this.#byGuild.get(poll.guildId);
    if (!others?.delete(poll)) return false;
    if (others.size === 0) this.#byGuild.delete(poll.guildId);
    this.#size--;
    this.#due.delete(poll);
    clearTimeout(poll.timer);
    poll.signal.removeEventListener('abort', poll.onAbort);
    return true;
  }

  #finish(poll: Poll, commands: LeasedCommand[]): void {
    if (this.#close(poll)) poll.resolve(commands);
  }

  #isOpen(poll: Poll): boolean {
    return this.#byGuild.get(poll.guildId)?.has(poll) ?? false;
  }

  /**
   * Adds a poll to the next round. Rounds run one after another until no poll is due; polls that become due in the same
   * turn of the event loop share a round.
   */
  #scheduleCheck(poll: Poll): void {
    this.#due.add(poll);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => void this.#runRounds());
  }

  async #runRounds(): Promise<void> {
    while (this.#due.size > 0) await this.#runRound();
    this.#isRunning = false;
  }

  async #runRound(): Promise<void> {
    this.#beginRound();
    const round = [...this.#round];
    try {
      const commands = await this.#options.leases.lease(round);
      const unclaimed: LeasedCommand[] = [];
      for (const poll of round) {
        const own = commands.get(serverKey(poll)) ?? [];
        if (!this.#isOpen(poll)) unclaimed.push(...own);
        else if (own.length > 0 || poll.deadline <= performance.now()) this.#finish(poll, own);
      }
      await this.#release(unclaimed);
      await this.#scheduleNextChecks(round.filter((poll) => this.#isOpen(poll)));
    } catch (error) {
      for (const poll of round) if (this.#close(poll)) poll.reject(error);
    } finally {
      this.#round.clear();
    }
  }

  /**
   * Releases commands that were leased for clients which have disconnected, so that other polls get them immediately.
   */
  async #release(unclaimed: readonly LeasedCommand[]): Promise<void> {
    if (unclaimed.length === 0) return;
    try {
      await this.#options.leases.release(unclaimed);
      this.wake([...new Set(unclaimed.map(({ guildId }) => guildId))]);
    } catch {
      // The release failed. Nothing is lost: other polls get the commands when their leases end.
    }
  }

  /** Moves due polls into the current round. If a server has several due polls, only its first poll is moved. */
  #beginRound(): void {
    const servers = new Set<string>();
    for (const poll of this.#due) {
      if (servers.has(serverKey(poll))) continue;
      servers.add(serverKey(poll));
      this.#due.delete(poll);
      this.#round.add(poll);
      clearTimeout(poll.timer);
      if (servers.size === MAX_POLLS_PER_ROUND) break;
    }
  }

  /**
   * Schedules the next check of polls: at the deadline, when the first lease in the server's queue ends, or after
   * MAX_RECHECK_MS, whichever is first.
   */
  async #scheduleNextChecks(polls: readonly Poll[]): Promise<void> {
    if (polls.length === 0) return;
    const leases = await readLeaseEnds(this.#options.database, polls);
    const leaseEnds = new Map(leases.map((lease) => [serverKey(lease), lease.endsInMs]));
    for (const poll of polls) {
      if (!this.#isOpen(poll)) continue;
      const leaseEndsInMs = leaseEnds.get(serverKey(poll)) ?? MAX_RECHECK_MS;
      const leasePause = Math.max(LOCKED_COMMAND_RETRY_MS, leaseEndsInMs + LEASE_END_MARGIN_MS);
      const pause = Math.min(MAX_RECHECK_MS, leasePause, poll.deadline - performance.now());
      // Timers cut fractions off, and a check a moment before the deadline would be repeated.
      poll.timer = setTimeout(() => this.#scheduleCheck(poll), Math.max(0, Math.ceil(pause)));
    }
  }
}
