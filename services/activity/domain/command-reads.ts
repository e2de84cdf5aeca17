import { performance } from 'node:perf_hooks';
import pLimit from 'p-limit';
import type { Clock } from '#kit/clock.ts';
import { SharedSlots } from '#kit/downstream/slots.ts';
import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { DeadlineError, within } from '#kit/resilience/deadline.ts';
import * as store from '../store/command-records.ts';
import { commandNotFound } from './commands.ts';

/** The maximum number of reads at a time in this process, fewer than its database connections. */
const MAX_CONCURRENT = 2;
/** The maximum number of reads that run or wait, in all and of one guild. */
const MAX_ADMITTED = 100;
export const MAX_OF_GUILD = 10;
/** How long, in milliseconds, a caller waits: less than the gateway does. */
const WAIT_MS = 5_000;

export interface CommandReadsOptions {
  database: Queryable;
  clock: Clock;
}

/** Selects the game servers of a shared command: at most `limit`, starting after the ID `after`. */
export interface ServerPage {
  after: string;
  limit: number;
}

export interface CommandWithServers {
  command: store.CommandRecord;
  servers: readonly store.ServerRecord[];
}

/**
 * Reads commands with their outcome. A read of a page counts up to 2,000 deliveries of each command, so these reads use
 * few database connections, and those of a guild run one after another: the heartbeats of game servers need the others.
 */
export class CommandReads {
  readonly #options: CommandReadsOptions;
  readonly #limit = pLimit(MAX_CONCURRENT);
  readonly #slots = new SharedSlots<string>(MAX_ADMITTED, MAX_OF_GUILD);
  /** Of each guild that reads, a promise that settles after its last read. */
  readonly #lastReads = new Map<string, Promise<unknown>>();

  constructor(options: CommandReadsOptions) {
    this.#options = options;
  }

  /** Returns a page of a guild's commands, the newest first. */
  list(guildId: string, filter: store.CommandFilter): Promise<store.CommandRecord[]> {
    const { database } = this.#options;
    return this.#limited(guildId, () => store.listCommands(database, guildId, filter, this.#now()));
  }

  /**
   * Returns a command and its game servers: for a shared command a page of them (see `listCommandServers`), otherwise
   * the command itself. Throws NOT_FOUND if the guild has no such command.
   */
  readWithServers(guildId: string, commandId: string, page: ServerPage): Promise<CommandWithServers> {
    const { database } = this.#options;
    return this.#limited(guildId, async (requireTime) => {
      const command = await store.findCommand(database, guildId, commandId, this.#now());
      if (!command) return commandNotFound();
      if (command.serverId !== '') return { command, servers: [command] };
      requireTime();
      const servers = await store.listCommandServers(database, guildId, commandId, page.after, page.limit);
      return { command, servers };
    });
  }

  /**
   * Throws UNAVAILABLE if too many reads wait, or if the read does not end in time. A read of several statements calls
   * `requireTime` between them: it throws if the caller no longer waits.
   */
  async #limited<Result>(guildId: string, read: (requireTime: () => void) => Promise<Result>): Promise<Result> {
    if (!this.#slots.take(guildId)) {
      throw new ApiError('UNAVAILABLE', { message: 'Too many reads of commands are waiting, try again soon' });
    }
    const until = performance.now() + WAIT_MS;
    const requireTime = () => {
      if (performance.now() >= until) throw new DeadlineError(WAIT_MS);
    };
    const reading = this.#inOrder(guildId, () => {
      requireTime();
      return read(requireTime);
    }).finally(() => this.#slots.release(guildId));
    try {
      return await within(WAIT_MS, reading);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw new ApiError('UNAVAILABLE', { message: 'Reading commands took too long, try again soon', cause: error });
    }
  }

  /** Runs the reads of a guild one after another. */
  async #inOrder<Result>(guildId: string, read: () => Promise<Result>): Promise<Result> {
    const previous = this.#lastReads.get(guildId);
    const reading = (async () => {
      await previous;
      return this.#limit(read);
    })();
    const settled = reading.then(
      () => undefined,
      () => undefined,
    );
    this.#lastReads.set(guildId, settled);
    try {
      return await reading;
    } finally {
      if (this.#lastReads.get(guildId) === settled) this.#lastReads.delete(guildId);
    }
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}
