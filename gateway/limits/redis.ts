import { readFileSync } from 'node:fs';
import DataLoader from 'dataloader';
import { Cluster, Command, type Result } from 'ioredis';
import type { RedisClient } from '#kit/redis/client.ts';
import { type Decision, guildTag, type Limit, type Limiter, limitKey, toDecision, WINDOW_MS } from './limiter.ts';

const SCRIPT = readFileSync(new URL('./limits.lua', import.meta.url), 'utf8');

declare module 'ioredis' {
  interface RedisCommander<Context> {
    /** Runs limits.lua: the number of keys, the keys, then the arguments. */
    applyLimits(...words: (string | number)[]): Result<number[], Context>;
  }
}

const ONLY_SERVER = 'redis';
/** The most requests that one call decides, because Redis serves nobody else while a script runs. */
const MAX_BATCH = 64;

/** What Redis says to one request. */
export interface Answer {
  allowed: boolean;
  /** It came when nobody waited any more, and nothing was counted. */
  isLate: boolean;
  /** The number of the window, by Redis's own clock. */
  window: number;
  /** Milliseconds until it ends. */
  resetMs: number;
  /** How many have passed in it, one for each limit. */
  counts: number[];
}

export interface Question {
  /** What the caller knows to have passed, one for each limit; Redis counts on from there if it knows of fewer. */
  known: readonly number[];
  /** The window that this is of. */
  window: number;
  /** Until when the caller waits, Unix milliseconds by Redis's clock; 0 = for ever. What comes later is not counted. */
  deadline: number;
}

/** With this many slots tried, one is of a given server, unless it has hardly any. */
const MAX_PROBE_SLOTS = 1_000;
const PROBE_LIMIT: Limit = { category: 'api_key', limit: 0, subject: 'probe' };
const NOTHING: Question = { known: [], window: -1, deadline: 0 };

/** One request's part of a call. */
interface Part {
  keys: string[];
  values: number[];
}

export interface RedisLimiterOptions {
  windowMs?: number | undefined;
  /** Makes a call to a server, for as long as it may take and where it has a chance; simply makes it when left out. */
  guard?: <Reply>(server: string, call: () => Promise<Reply>) => Promise<Reply>;
}

/**
 * Counts in Redis, for all gateways together, in one call for all requests of a turn of the event loop; of a Cluster for
 * those of a guild, whose counts are in one slot. Redis 7 or Valkey.
 */
export class RedisLimiter implements Limiter {
  readonly #redis: RedisClient;
  readonly #windowMs: number;
  readonly #guard: NonNullable<RedisLimiterOptions['guard']>;
  /** The requests of this turn of the event loop, by batchKey. */
  readonly #batches = new Map<string, DataLoader<Part, Answer>>();

  constructor(
    redis: RedisClient,
    { windowMs = WINDOW_MS, guard = (_server, call) => call() }: RedisLimiterOptions = {},
  ) {
    this.#redis = redis;
    redis.defineCommand('applyLimits', { lua: SCRIPT });
    this.#windowMs = windowMs;
    this.#guard = guard;
  }

  /** Whether a call has a chance now. */
  get isConnected(): boolean {
    return this.#redis.status === 'ready';
  }

  /** Rejects when Redis does not answer; how long it may take is the caller's to say. */
  async decide(guildId: string, limits: readonly Limit[]): Promise<Decision> {
    return exactDecision(limits, await this.count(guildId, limits));
  }

  count(guildId: string, limits: readonly Limit[], question = NOTHING): Promise<Answer> {
    const { window, known, deadline } = question;
    const keys = limits.map((limit) => limitKey(guildId, limit));
    const values = [limits.length, window, deadline];
    for (const [index, { limit }] of limits.entries()) values.push(limit, known[index] ?? 0);
    return this.#batch(this.#redis instanceof Cluster ? guildId : ONLY_SERVER).load({ keys, values });
  }

  /**
   * Runs the script on a server without counting anything; rejects when the server cannot be used. A server that decides
   * for no guild any more is not needed, and so can.
   */
  async check(server: string): Promise<void> {
    if (!this.isConnected) throw new Error('there is no connection to Redis');
    const guildId = this.#guildOn(server);
    if (guildId === undefined) return;
    const key = limitKey(guildId, PROBE_LIMIT);
    // One request with one limit of none: it is refused, and a refused request is not counted.
    await this.#redis.applyLimits(1, key, this.#windowMs, 1, NOTHING.window, NOTHING.deadline, 0, 0);
  }

  /** What stands for a guild whose counts are on this server. */
  #guildOn(server: string): string | undefined {
    for (let number = 0; number < MAX_PROBE_SLOTS; number++) {
      const guildId = `probe ${number}`;
      if (this.serverOf(guildId) === server) return guildId;
    }
    return undefined;
  }

  /** The server that decides for a guild: one of a Cluster's, else always the same. */
  serverOf(guildId: string): string {
    if (!(this.#redis instanceof Cluster)) return ONLY_SERVER;
    const slot = new Command('exists', [guildTag(guildId)]).getSlot();
    return (slot === null ? undefined : this.#redis.slots[slot]?.[0]) ?? ONLY_SERVER;
  }

  /** All servers that decide now. */
  get servers(): string[] {
    if (!(this.#redis instanceof Cluster)) return [ONLY_SERVER];
    // Not the connections: one to a node that hangs is dropped, and the node still decides.
    return [...new Set(this.#redis.slots.map(([master]) => master ?? ONLY_SERVER))];
  }

  /** Collects what is asked in one turn of the event loop into one call. */
  #batch(group: string): DataLoader<Part, Answer> {
    const open = this.#batches.get(group);
    if (open) return open;
    const decide = (parts: readonly Part[]) => {
      this.#batches.delete(group);
      return this.#call(group, parts);
    };
    const batch = new DataLoader(decide, { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate });
    this.#batches.set(group, batch);
    return batch;
  }

  /** `group`: a guild of a Cluster's, or the only server. */
  async #call(group: string, parts: readonly Part[]): Promise<Answer[]> {
    const server = this.#redis instanceof Cluster ? this.serverOf(group) : group;
    const keys: string[] = [];
    for (const part of parts) keys.push(...part.keys);
    const words = [keys.length, ...keys, this.#windowMs];
    for (const { values } of parts) words.push(...values);
    return readAnswers(await this.#guard(server, () => this.#redis.applyLimits(...words)), parts);
  }
}

/** Redis's answer as a decision. */
export function exactDecision(limits: readonly Limit[], { allowed, resetMs, counts }: Answer): Decision {
  const remaining = limits.map(({ limit }, index) => limit - (counts[index] ?? 0));
  return toDecision(limits, { allowed, mode: 'exact', resetMs, remaining });
}

function readAnswers(told: readonly number[], parts: readonly Part[]): Answer[] {
  const [window = 0, resetMs = 0] = told;
  let next = 2;
  return parts.map(({ keys }) => {
    const outcome = told[next++];
    const counts = told.slice(next, (next += keys.length));
    return { allowed: outcome === 1, isLate: outcome === -1, window, resetMs, counts };
  });
}
