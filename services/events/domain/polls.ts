import { performance } from 'node:perf_hooks';
import type { Part } from '#kit/service/lifecycle.ts';
import type { ReadEvents, ReadRequest } from '../store/log.ts';
import type { EventLog } from './log.ts';
import type { Wakeups } from './wakeups.ts';

/** The number of reads for one response, if the first ones find no event of the wanted types. */
const MAX_READS = 10;
/** The maximum time until the guilds of waiting polls are checked again, in case a notification was lost. */
const RECHECK_MS = 5_000;
const GUILDS_PER_CHECK = 500;
/** The number of reads for waiting polls at the same time; fewer than there are database connections. */
const MAX_READERS = 3;
/** The share of the process's waiting polls that one guild may hold. */
const GUILD_SHARE = 10;

interface Waiter {
  request: ReadRequest & { after: number };
  types: ReadonlySet<string>;
  /** Ends the wait without events. */
  end: () => void;
  finish: (result: ReadEvents) => void;
  fail: (error: unknown) => void;
}

/** What a poll waits with: its request, what it has seen of the log, and for how long it waits. */
interface Wait {
  request: ReadRequest;
  seen: ReadEvents;
  leftMs: number;
  signal: AbortSignal;
}

/** The open polls of a guild. */
class Guild {
  /** The polls that wait for events. */
  readonly waiters = new Set<Waiter>();
  /** The number of open polls, with those that read. */
  polls = 0;
  /** The number of times that new events were announced. */
  wakes = 0;
  isReading = false;
  /** True if new events were announced during a read for the waiting polls. */
  isDirty = false;
}

export interface PollsOptions {
  log: Pick<EventLog, 'read'>;
  wakeups: Wakeups;
  /** Returns the newest seq of each guild. */
  newestSeqs: (guildIds: readonly string[]) => Promise<{ guildId: string; newestSeq: number }[]>;
  /** The maximum number of polls that wait; further polls are answered immediately. One guild may hold a tenth. */
  maxWaiting: number;
}

/**
 * Reads events, and waits for new ones. The polls of a guild that wait share one read of the log. A waiting poll holds
 * no database connection.
 */
export class Polls implements Part {
  readonly name = 'polls';
  readonly #options: PollsOptions;
  readonly #guilds = new Map<string, Guild>();
  readonly #dirty = new Set<string>();
  #readers = 0;
  #size = 0;
  #isDraining = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PollsOptions) {
    this.#options = options;
  }

  /** The number of polls that wait. */
  get size(): number {
    return this.#size;
  }

  async start(): Promise<void> {
    this.#options.wakeups.onWake((guildIds) => {
      if (guildIds === undefined) void this.#recheck();
      else for (const guildId of guildIds) this.#markDirty(guildId);
    });
    this.#schedule();
  }

  /** Answers all waiting polls without events; from now on no poll waits. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    clearTimeout(this.#timer);
    for (const { waiters } of this.#guilds.values()) for (const waiter of waiters) waiter.end();
  }

  /**
   * Reads the next events of a guild. If there are none of the wanted types, waits for them up to `waitMs`, or until
   * the client disconnects (`signal`) or the process drains. Throws EVENTS_GONE like `EventLog.read`.
   */
  async poll(request: ReadRequest, waitMs: number, signal: AbortSignal): Promise<ReadEvents> {
    const deadline = performance.now() + waitMs;
    const guild = this.#enter(request.guildId);
    const { wakes } = guild;
    try {
      const result = await this.#read(request);
      if (result.events.length > 0 || result.examinedSeq < result.newestSeq) return result;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || signal.aborted || !this.#mayWait(guild)) return result;
      // Events that were stored after the read may have been announced before the poll began to wait.
      if (guild.wakes > wakes) this.#markDirty(request.guildId);
      return await this.#wait(guild, { request, seen: result, leftMs, signal });
    } finally {
      this.#leave(request.guildId, guild);
    }
  }

  #enter(guildId: string): Guild {
    const guild = this.#guilds.get(guildId) ?? new Guild();
    this.#guilds.set(guildId, guild);
    guild.polls++;
    return guild;
  }

  #leave(guildId: string, guild: Guild): void {
    if (--guild.polls === 0) this.#guilds.delete(guildId);
  }

  async #read(request: ReadRequest): Promise<ReadEvents> {
    let result = await this.#options.log.read(request);
    for (let reads = 1; reads < MAX_READS; reads++) {
      if (result.events.length > 0 || result.examinedSeq >= result.newestSeq) return result;
      result = await this.#options.log.read({ ...request, after: result.examinedSeq });
    }
    return result;
  }

  #mayWait({ waiters }: Guild): boolean {
    const { maxWaiting } = this.#options;
    return !this.#isDraining && this.#size < maxWaiting && waiters.size < Math.ceil(maxWaiting / GUILD_SHARE);
  }

  #wait({ waiters }: Guild, { request, seen, leftMs, signal }: Wait): Promise<ReadEvents> {
    return new Promise((resolve, reject) => {
      const close = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        if (waiters.delete(waiter)) this.#size--;
      };
      const waiter: Waiter = {
        request: { ...request, after: seen.examinedSeq },
        types: new Set(request.types),
        end: () => waiter.finish({ ...seen, examinedSeq: waiter.request.after }),
        finish: (result) => {
          close();
          resolve(result);
        },
        fail: (error) => {
          close();
          reject(error);
        },
      };
      const { end } = waiter;
      const timer = setTimeout(end, leftMs);
      signal.addEventListener('abort', end, { once: true });
      waiters.add(waiter);
      this.#size++;
    });
  }

  /** Has the log read for the waiting polls of a guild, once however often it is called meanwhile. */
  #markDirty(guildId: string): void {
    const guild = this.#guilds.get(guildId);
    if (!guild) return;
    guild.wakes++;
    this.#dirty.add(guildId);
    this.#startReader();
  }

  #startReader(): void {
    if (this.#dirty.size === 0 || this.#readers >= MAX_READERS) return;
    this.#readers++;
    // Polls and events of the same turn of the event loop share a read.
    setImmediate(() => {
      void this.#readDirty().finally(() => {
        this.#readers--;
        this.#startReader();
      });
    });
  }

  async #readDirty(): Promise<void> {
    for (const guildId of this.#dirty) {
      this.#dirty.delete(guildId);
      const guild = this.#guilds.get(guildId);
      // Another reader is reading this guild: it is told to read the guild once more when it has finished.
      if (guild?.isReading) guild.isDirty = true;
      else if (guild && guild.waiters.size > 0) await this.#readFor(guildId, guild);
    }
  }

  async #readFor(guildId: string, guild: Guild): Promise<void> {
    guild.isReading = true;
    const waiters = [...guild.waiters];
    try {
      const types = [...new Set(waiters.flatMap(({ request }) => request.types))];
      const after = Math.min(...waiters.map(({ request }) => request.after));
      const limit = Math.max(...waiters.map(({ request }) => request.limit));
      const maxBytes = Math.max(...waiters.map(({ request }) => request.maxBytes));
      const result = await this.#options.log.read({ guildId, after, types, limit, maxBytes });
      for (const waiter of waiters) hand(waiter, result);
      if (result.examinedSeq < result.newestSeq) this.#dirty.add(guildId);
    } catch (error) {
      for (const waiter of waiters) waiter.fail(error);
    } finally {
      guild.isReading = false;
      if (guild.isDirty) this.#dirty.add(guildId);
      guild.isDirty = false;
    }
  }

  #schedule(): void {
    const pause = RECHECK_MS * (0.8 + 0.2 * Math.random());
    this.#timer = setTimeout(() => {
      void this.#recheck().finally(() => {
        if (!this.#isDraining) this.#schedule();
      });
    }, pause).unref();
  }

  /** Looks for guilds with events that their waiting polls have not seen, many guilds at a time. */
  async #recheck(): Promise<void> {
    const guildIds = [...this.#guilds.keys()];
    for (let start = 0; start < guildIds.length; start += GUILDS_PER_CHECK) {
      // While the database is unavailable, the next recheck tries again; polls end at their own time.
      const page = await this.#options.newestSeqs(guildIds.slice(start, start + GUILDS_PER_CHECK)).catch(() => []);
      for (const { guildId, newestSeq } of page) {
        const waiters = [...(this.#guilds.get(guildId)?.waiters ?? [])];
        if (waiters.some(({ request }) => request.after < newestSeq)) this.#markDirty(guildId);
      }
    }
  }
}

/** Finishes a poll with its events of a shared read, or remembers that the read had none for it. */
function hand(waiter: Waiter, { events, ...bounds }: ReadEvents): void {
  const { request, types } = waiter;
  const own = events.filter(({ seq, type }) => seq > request.after && types.has(type)).slice(0, request.limit);
  const last = own.at(-1);
  if (!last) request.after = Math.max(request.after, bounds.examinedSeq);
  else
    waiter.finish({ ...bounds, events: own, examinedSeq: own.length < request.limit ? bounds.examinedSeq : last.seq });
}
