import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import DataLoader from 'dataloader';
import { Cluster, Command } from 'ioredis';
import { pathOf } from '../files.ts';
import type { RedisClient } from '../redis/client.ts';
import { type Decision, guildTag, type Limit, limitKey, toDecision, WINDOW_MS } from './limiter.ts';

const SCRIPT = readFileSync(pathOf('services/kit/limits/limits.lua'), 'utf8');
/** The name under which Redis stores the script after its first run. */
const SCRIPT_SHA1 = createHash('sha1').update(SCRIPT).digest('hex');

/** The name of the only Redis server if Redis is no Cluster. */
const ONLY_SERVER = 'redis';
/**
 * The maximum number of requests that one call to Redis decides, because Redis does nothing else while a script runs.
 */
const MAX_BATCH = 64;

/** The rate limit counts of one request, as Redis returned them. */
export interface Counts {
  allowed: boolean;
  /** True if Redis received the request after its deadline and counted nothing. */
  isLate: boolean;
  /** The number of the rate limit window, by Redis's own clock. */
  window: number;
  /** Milliseconds until the window of the rate limits ends. */
  resetMs: number;
  /** The number of requests counted in this window, one entry for each limit. */
  counts: number[];
}

/** The requests that the caller of `count` has counted itself. */
export interface KnownCounts {
  /**
   * The number of counted requests, one entry for each limit. Redis continues from these numbers if its own are lower.
   */
  known: readonly number[];
  /** The number of the window that the counts belong to. */
  window: number;
  /** Redis counts nothing after this time, in Unix milliseconds by Redis's clock; 0 = no deadline. */
  deadline: number;
}

/**
 * The maximum number of slots that are tried to find one on a given Redis server: enough unless the server has very
 * few.
 */
const MAX_PROBE_SLOTS = 1_000;
const PROBE_LIMIT: Limit = { category: 'api_key', limit: 0, subject: 'probe' };
const NOTHING_KNOWN: KnownCounts = { known: [], window: -1, deadline: 0 };

/** The keys and arguments of one request in a call of the Redis script. */
interface ScriptPart {
  keys: string[];
  values: number[];
}

export interface RedisLimiterOptions {
  windowMs?: number | undefined;
  /** Wraps each call to a Redis server, for example in a timeout and a circuit breaker. */
  guard: <Reply>(server: string, call: () => Promise<Reply>) => Promise<Reply>;
}

/**
 * Counts requests towards rate limits in Redis, for all gateways together. All requests of one turn of the event loop
 * are decided by one call; in a Cluster by one call for each guild, whose counts are in one slot. Works with Redis 7 or
 * Valkey.
 */
export class RedisLimiter {
  readonly #redis: RedisClient;
  readonly #windowMs: number;
  readonly #guard: RedisLimiterOptions['guard'];
  /** The batches of requests of this turn of the event loop: one per guild in a Redis Cluster, otherwise one. */
  readonly #batches = new Map<string, DataLoader<ScriptPart, Counts>>();

  constructor(redis: RedisClient, { windowMs = WINDOW_MS, guard }: RedisLimiterOptions) {
    this.#redis = redis;
    this.#windowMs = windowMs;
    this.#guard = guard;
  }

  /** True if Redis is connected. */
  get isConnected(): boolean {
    return this.#redis.status === 'ready';
  }

  /** Counts a request in Redis if all its limits allow it. Rejects if Redis fails. Has no timeout of its own. */
  count(guildId: string, limits: readonly Limit[], caller = NOTHING_KNOWN): Promise<Counts> {
    const { window, known, deadline } = caller;
    const keys = limits.map((limit) => limitKey(guildId, limit));
    const values = [limits.length, window, deadline];
    for (const [index, { limit }] of limits.entries()) values.push(limit, known[index] ?? 0);
    return this.#batch(this.#redis instanceof Cluster ? guildId : ONLY_SERVER).load({ keys, values });
  }

  /**
   * Runs the script on a Redis server without counting anything; rejects if the server cannot be used. Resolves for a
   * server that has no slots any more, because no guild needs it.
   */
  async check(server: string): Promise<void> {
    if (!this.isConnected) throw new Error('there is no connection to Redis');
    const guildId = this.#guildOn(server);
    if (guildId === undefined) return;
    const key = limitKey(guildId, PROBE_LIMIT);
    // The script gets a request with one limit of 0, which is rejected and therefore not counted.
    await this.#applyLimits([key], [this.#windowMs, 1, NOTHING_KNOWN.window, NOTHING_KNOWN.deadline, 0, 0]);
  }

  /** Returns an invented guild ID whose Redis Cluster slot is on this server. */
  #guildOn(server: string): string | undefined {
    for (let number = 0; number < MAX_PROBE_SLOTS; number++) {
      const guildId = `probe ${number}`;
      if (this.serverOf(guildId) === server) return guildId;
    }
    return undefined;
  }

  /**
   * Returns the Redis server that stores a guild's counts: a node of the Cluster, or always the same name without a
   * Cluster.
   */
  serverOf(guildId: string): string {
    if (!(this.#redis instanceof Cluster)) return ONLY_SERVER;
    const slot = new Command('exists', [guildTag(guildId)]).getSlot();
    return (slot === null ? undefined : this.#redis.slots[slot]?.[0]) ?? ONLY_SERVER;
  }

  /** The names of all Redis servers that store counts now. */
  get servers(): string[] {
    if (!(this.#redis instanceof Cluster)) return [ONLY_SERVER];
    // The servers are read from the slots, because ioredis drops the connection to a node that hangs and still owns
    // slots.
    return [...new Set(this.#redis.slots.map(([master]) => master ?? ONLY_SERVER))];
  }

  /**
   * Returns the batch that collects the requests of this turn of the event loop. `group` is a guild's ID or
   * ONLY_SERVER.
   */
  #batch(group: string): DataLoader<ScriptPart, Counts> {
    const open = this.#batches.get(group);
    if (open) return open;
    const decide = (parts: readonly ScriptPart[]) => {
      this.#batches.delete(group);
      return this.#call(group, parts);
    };
    const batch = new DataLoader(decide, { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate });
    this.#batches.set(group, batch);
    return batch;
  }

  async #call(group: string, parts: readonly ScriptPart[]): Promise<Counts[]> {
    const server = this.#redis instanceof Cluster ? this.serverOf(group) : group;
    const keys: string[] = [];
    for (const part of parts) keys.push(...part.keys);
    const values = [this.#windowMs];
    for (const part of parts) values.push(...part.values);
    return readReply(await this.#guard(server, () => this.#applyLimits(keys, values)), parts);
  }

  /** Runs limits.lua in Redis by its hash, which is shorter than the script; Redis may not know the hash after a restart. */
  async #applyLimits(keys: string[], values: number[]): Promise<number[]> {
    try {
      return (await this.#redis.evalsha(SCRIPT_SHA1, keys.length, ...keys, ...values)) as number[];
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return (await this.#redis.eval(SCRIPT, keys.length, ...keys, ...values)) as number[];
    }
  }
}

/** Makes a decision from the counts that Redis returned. */
export function exactDecision(limits: readonly Limit[], { allowed, resetMs, counts }: Counts): Decision {
  const remaining = limits.map(({ limit }, index) => limit - (counts[index] ?? 0));
  return toDecision(limits, { allowed, mode: 'exact', resetMs, remaining });
}

function readReply(reply: readonly number[], parts: readonly ScriptPart[]): Counts[] {
  const [window = 0, resetMs = 0] = reply;
  let next = 2;
  return parts.map(({ keys }) => {
    const outcome = reply[next++];
    const counts = reply.slice(next, (next += keys.length));
    return { allowed: outcome === 1, isLate: outcome === -1, window, resetMs, counts };
  });
}
