import { performance } from 'node:perf_hooks';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { LeasedCommand } from '../store/commands.ts';
import { type Asked, readLeaseEnds } from '../store/leases.ts';
import { serverKey } from '../store/servers.ts';
import type { Leases } from './leases.ts';

/** How long a poll waits at most until it looks again, should nobody wake it. */
const LOOK_AGAIN_MS = 5_000;
/** A lease that ends now shall have ended for sure when it is looked at. */
const AFTER_LEASE_MS = 5;
/** Where a lease has ended already another transaction holds the command, such as that of its acknowledgement. */
const HELD_MS = 50;
const MOST_IN_ROUND = 500;

interface Poll extends Asked {
  /** By performance.now(). */
  until: number;
  timer: NodeJS.Timeout | undefined;
  signal: AbortSignal;
  onGone: () => void;
  resolve: (commands: LeasedCommand[]) => void;
  reject: (error: unknown) => void;
}

export interface PollsOptions {
  database: Queryable;
  leases: Leases;
  /** More are answered without waiting. */
  mostWaiting: number;
}

/** Polls for commands, which may wait for them. One statement at a time leases for all that are due. */
export class Polls implements Part {
  readonly name = 'polls';
  readonly #options: PollsOptions;
  readonly #byGuild = new Map<string, Set<Poll>>();
  /** To be looked at in the next round. */
  readonly #due = new Set<Poll>();
  /** Those of the round that is under way. */
  readonly #round = new Set<Poll>();
  #isRunning = false;
  #isDraining = false;
  #size = 0;

  constructor(options: PollsOptions) {
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    return this.#size;
  }

  /** A server's commands; none when the time is over, the service drains, or the caller has gone (`signal`). */
  take(asked: Asked, waitMs: number, signal: AbortSignal): Promise<LeasedCommand[]> {
    if (signal.aborted) return Promise.resolve([]);
    const mayWait = !this.#isDraining && this.#size < this.#options.mostWaiting;
    const until = performance.now() + (mayWait ? waitMs : 0);
    return new Promise((resolve, reject) => {
      const onGone = () => this.#settle(poll, []);
      const poll: Poll = { ...asked, until, timer: undefined, signal, onGone, resolve, reject };
      // Before the first look: what comes after it wakes the poll.
      this.#open(poll);
      this.#look(poll);
    });
  }

  /** New commands have come, for these guilds, or for whomever. */
  wake(guildIds: readonly string[] = [...this.#byGuild.keys()]): void {
    for (const guildId of guildIds) for (const poll of this.#byGuild.get(guildId) ?? []) this.#look(poll);
  }

  /** Whoever waits is answered now, and nobody waits from now on. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const poll of [...this.#byGuild.values()].flatMap((polls) => [...polls])) {
      poll.until = 0;
      // What a round has leased is to be handed over.
      if (!this.#round.has(poll)) this.#settle(poll, []);
    }
  }

  #open(poll: Poll): void {
    const others = this.#byGuild.get(poll.guildId);
    if (others) others.add(poll);
    else this.#byGuild.set(poll.guildId, new Set([poll]));
    this.#size++;
    poll.signal.addEventListener('abort', poll.onGone, { once: true });
  }

  /** False when it is closed already. */
  #close(poll: Poll): boolean {
    const others = this.#byGuild.get(poll.guildId);
    if (!others?.delete(poll)) return false;
    if (others.size === 0) this.#byGuild.delete(poll.guildId);
    this.#size--;
    this.#due.delete(poll);
    clearTimeout(poll.timer);
    poll.signal.removeEventListener('abort', poll.onGone);
    return true;
  }

  #settle(poll: Poll, commands: LeasedCommand[]): void {
    if (this.#close(poll)) poll.resolve(commands);
  }

  #isOpen(poll: Poll): boolean {
    return this.#byGuild.get(poll.guildId)?.has(poll) ?? false;
  }

  /** Rounds follow each other until nobody is due; what is due in one turn of the event loop goes together. */
  #look(poll: Poll): void {
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
      const commands = await this.#options.leases.take(round);
      const unclaimed: LeasedCommand[] = [];
      for (const poll of round) {
        const own = commands.get(serverKey(poll)) ?? [];
        if (!this.#isOpen(poll)) unclaimed.push(...own);
        else if (own.length > 0 || poll.until <= performance.now()) this.#settle(poll, own);
      }
      await this.#giveBack(unclaimed);
      await this.#waitOn(round.filter((poll) => this.#isOpen(poll)));
    } catch (error) {
      for (const poll of round) if (this.#close(poll)) poll.reject(error);
    } finally {
      this.#round.clear();
    }
  }

  /** What was leased for callers who went away meanwhile is there for the next one; else their lease would delay it. */
  async #giveBack(unclaimed: readonly LeasedCommand[]): Promise<void> {
    if (unclaimed.length === 0) return;
    try {
      await this.#options.leases.giveBack(unclaimed);
      this.wake([...new Set(unclaimed.map(({ guildId }) => guildId))]);
    } catch {
      // It comes again when the lease ends.
    }
  }

  /** Of several polls of one server one a round. */
  #beginRound(): void {
    const servers = new Set<string>();
    for (const poll of this.#due) {
      if (servers.has(serverKey(poll))) continue;
      servers.add(serverKey(poll));
      this.#due.delete(poll);
      this.#round.add(poll);
      clearTimeout(poll.timer);
      if (servers.size === MOST_IN_ROUND) break;
    }
  }

  /** Each looks again when its time is over, the first lease of its queue ends, or a while has passed. */
  async #waitOn(polls: readonly Poll[]): Promise<void> {
    if (polls.length === 0) return;
    const leases = await readLeaseEnds(this.#options.database, polls);
    const pauses = new Map(leases.map((lease) => [serverKey(lease), lease.endsInMs]));
    for (const poll of polls) {
      if (!this.#isOpen(poll)) continue;
      const untilLease = Math.max(HELD_MS, (pauses.get(serverKey(poll)) ?? LOOK_AGAIN_MS) + AFTER_LEASE_MS);
      const pause = Math.min(LOOK_AGAIN_MS, untilLease, poll.until - performance.now());
      poll.timer = setTimeout(() => this.#look(poll), Math.max(0, pause));
    }
  }
}
