import { performance } from 'node:perf_hooks';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { LeasedCommand } from '../store/commands.ts';
import { type FetchRequest, readLeaseEnds } from '../store/leases.ts';
import { serverKey } from '../store/servers.ts';
import type { Leases } from './leases.ts';

/** The maximum time until a waiting poll checks for commands again, in case no notification wakes it. */
const MAX_RECHECK_MS = 5_000;
/** A check for a command whose lease ends runs this much later, so that the lease has surely ended. */
const LEASE_END_MARGIN_MS = 5;
/** The pause if a lease has ended, but another transaction, such as an acknowledgement, still locks the command. */
const LOCKED_COMMAND_RETRY_MS = 50;
const MAX_POLLS_PER_ROUND = 500;

interface Poll extends FetchRequest {
  /** When the poll stops waiting, by performance.now(). */
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
  /** The maximum number of polls that wait; further ones get a response without waiting. */
  maxWaiting: number;
}

/** Polls for commands, which may wait. They are checked in rounds: one statement leases commands for all due polls. */
export class Polls implements Part {
  readonly name = 'polls';
  readonly #options: PollsOptions;
  readonly #byGuild = new Map<string, Set<Poll>>();
  /** The polls that the next round checks. */
  readonly #due = new Set<Poll>();
  /** The polls of the current round. */
  readonly #round = new Set<Poll>();
  #isRunning = false;
  #isDraining = false;
  #size = 0;

  constructor(options: PollsOptions) {
    this.#options = options;
  }

  /** The number of open polls. */
  get size(): number {
    return this.#size;
  }

  /**
   * Returns the commands of a server as soon as there are any. Returns none if the time is over, the service drains, or
   * the client has disconnected (`signal`).
   */
  poll(request: FetchRequest, waitMs: number, signal: AbortSignal): Promise<LeasedCommand[]> {
    if (signal.aborted) return Promise.resolve([]);
    const canWait = !this.#isDraining && this.#size < this.#options.maxWaiting;
    const deadline = performance.now() + (canWait ? waitMs : 0);
    return new Promise((resolve, reject) => {
      const onAbort = () => this.#finish(poll, []);
      const poll: Poll = { ...request, deadline, timer: undefined, signal, onAbort, resolve, reject };
      // Before the first check, so that a command sent after that check wakes the poll.
      this.#open(poll);
      this.#scheduleCheck(poll);
    });
  }

  /** Checks the polls of these guilds, or of all guilds, for new commands. */
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

  /** Returns false if the poll was closed before. */
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

  /** Rounds run one after another until no poll is due. Polls that become due in one turn share a round. */
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
      // The commands are handed over again when their leases end.
    }
  }

  /** Moves due polls into the current round. A second poll of the same server stays for the next round. */
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

  /** The next check is at the deadline, when the first lease in the server's queue ends, or after MAX_RECHECK_MS. */
  async #scheduleNextChecks(polls: readonly Poll[]): Promise<void> {
    if (polls.length === 0) return;
    const leases = await readLeaseEnds(this.#options.database, polls);
    const leaseEnds = new Map(leases.map((lease) => [serverKey(lease), lease.endsInMs]));
    for (const poll of polls) {
      if (!this.#isOpen(poll)) continue;
      const leaseEndsInMs = leaseEnds.get(serverKey(poll)) ?? MAX_RECHECK_MS;
      const leasePause = Math.max(LOCKED_COMMAND_RETRY_MS, leaseEndsInMs + LEASE_END_MARGIN_MS);
      const pause = Math.min(MAX_RECHECK_MS, leasePause, poll.deadline - performance.now());
      poll.timer = setTimeout(() => this.#scheduleCheck(poll), Math.max(0, pause));
    }
  }
}
