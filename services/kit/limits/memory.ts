import type { Clock } from '../clock.ts';
import { type Decision, type Limit, type Limiter, toDecision, WINDOW_MS } from './limiter.ts';
import type { Counts } from './redis.ts';
import { RedisClock } from './redis-clock.ts';

/** The number of requests that count towards one rate limit in the current window. */
interface Count {
  category: Limit['category'];
  subject: string;
  /** The number of requests of all gateways, as Redis last returned it. */
  inRedis: number;
  /** The number of requests that this process allowed without Redis. */
  local: number;
  /** The part of `local` that was already sent to Redis. */
  reported: number;
}

/** The counts of one request's rate limits at one moment. */
export interface Snapshot {
  window: number;
  /** When the snapshot was taken, in Unix milliseconds. */
  takenAt: number;
  /** Milliseconds until the window of the rate limits ends. */
  resetMs: number;
  counts: Count[];
  /** The value of `local` in each count when the snapshot was taken. */
  local: number[];
  /**
   * The minimum that Redis should count for each limit, because Redis may have been unreachable or have lost its
   * counts.
   */
  known: number[];
}

export interface MemoryLimiterOptions {
  clock: Clock;
  /**
   * The number of gateways that share the limits; without Redis each allows its share of the remaining requests.
   * Default: 1.
   */
  replicas?: number;
  windowMs?: number;
  /** The maximum number of guilds and API keys with a count of their own. */
  maxSubjects?: number;
}

/** The maximum number of subjects (guilds and API keys) with a count of their own, of about 150 bytes each. */
const MAX_SUBJECTS = 200_000;

/**
 * Counts requests towards rate limits in this process. It also stores the counts that Redis returns, so that a decision
 * without Redis continues from them. Requests that this process allows without Redis are counted as if each replica had
 * allowed as many, here and later in Redis. So all replicas together allow what remained of a limit, and in a fresh
 * window each allows ceil(limit / replicas). At most `maxSubjects` subjects (guilds and API keys) have a count of their
 * own. The further subjects of a category share one count until the window ends: some are rejected too early, none gets
 * more than its limit, and no current count is evicted.
 */
export class MemoryLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #replicas: number;
  readonly #windowMs: number;
  readonly #maxSubjects: number;
  /** The counts of each guild's rate limits. All windows end at the same time, and then the whole map is cleared. */
  readonly #counts = new Map<string, Count[]>();
  #subjects = 0;
  /** The shared counts of the subjects above the maximum, by category. */
  readonly #overflow = new Map<string, Count>();
  #window = 0;
  readonly #redisClock: RedisClock;

  constructor({ clock, replicas = 1, windowMs = WINDOW_MS, maxSubjects = MAX_SUBJECTS }: MemoryLimiterOptions) {
    this.#clock = clock;
    this.#redisClock = new RedisClock(clock);
    this.#replicas = replicas;
    this.#windowMs = windowMs;
    this.#maxSubjects = maxSubjects;
  }

  /** Decides on a request without Redis. The mode is `exact` if this is the only gateway. */
  decide(guildId: string, limits: readonly Limit[]): Decision {
    const resetMs = this.#enterWindow();
    const counts = limits.map((limit) => this.#find(guildId, limit) ?? this.#shared(limit));
    const remaining = () => limits.map(({ limit }, index) => this.#remaining(limit, counts[index]));
    const allowed = remaining().every(isPositive);
    if (allowed) for (const count of counts) count.local += 1;
    return toDecision(limits, {
      allowed,
      mode: this.#replicas === 1 ? 'exact' : 'degraded',
      resetMs,
      remaining: remaining(),
    });
  }

  /** Returns the counts of a request's limits before a call to Redis. */
  snapshot(guildId: string, limits: readonly Limit[]): Snapshot {
    const takenAt = this.#clock.now();
    const resetMs = this.#enterWindow(takenAt);
    const counts = limits.map((limit) => this.#find(guildId, limit) ?? emptyCount(limit));
    const known = counts.map(({ inRedis, local, reported }) => inRedis + this.#replicas * (local - reported));
    const local = counts.map((count) => count.local);
    return { window: this.#window, takenAt, resetMs, counts, local, known };
  }

  /** Stores the counts that Redis returned for a request that was sent with this snapshot. */
  learn(guildId: string, limits: readonly Limit[], sent: Snapshot, reply: Counts): void {
    this.#redisClock.learn((reply.window + 1) * this.#windowMs - reply.resetMs, sent.takenAt);
    this.#enterWindow();
    if (reply.window !== this.#window || reply.isLate) return;
    const isSame = sent.window === reply.window;
    const counts = isSame ? sent.counts : this.snapshot(guildId, limits).counts;
    for (const [index, count] of counts.entries()) {
      count.inRedis = Math.max(count.inRedis, reply.counts[index] ?? 0);
      if (isSame) count.reported = Math.max(count.reported, sent.local[index] ?? 0);
    }
  }

  /**
   * Returns the time `milliseconds` after the snapshot by Redis's clock; 0 while the offset of that clock is not known.
   */
  deadline(sent: Snapshot, milliseconds: number): number {
    return this.#redisClock.isKnown ? Math.ceil(this.#redisClock.at(sent.takenAt)) + milliseconds : 0;
  }

  /** Deletes all counts if a new window has begun. Returns the milliseconds until the window ends. */
  #enterWindow(time = this.#clock.now()): number {
    const now = this.#redisClock.at(time);
    const window = Math.floor(now / this.#windowMs);
    // A clock that is set back across the end of a window must not restart the previous window.
    if (window !== this.#window && window !== this.#window - 1) {
      this.#window = window;
      this.#counts.clear();
      this.#subjects = 0;
      this.#overflow.clear();
    }
    return Math.ceil((this.#window + 1) * this.#windowMs - now);
  }

  /** Returns how many requests this process may still allow: its share of the remaining requests. */
  #remaining(limit: number, count: Count | undefined): number {
    if (count === undefined) return 0;
    return Math.ceil((limit - count.inRedis) / this.#replicas) - (count.local - count.reported);
  }

  #find(guildId: string, limit: Limit): Count | undefined {
    const counts = this.#counts.get(guildId);
    for (const count of counts ?? []) {
      if (count.category === limit.category && count.subject === limit.subject) return count;
    }
    if (this.#subjects >= this.#maxSubjects) return undefined;
    const count = emptyCount(limit);
    if (counts) counts.push(count);
    else this.#counts.set(guildId, [count]);
    this.#subjects += 1;
    return count;
  }

  #shared(limit: Limit): Count {
    const count = this.#overflow.get(limit.category) ?? emptyCount(limit);
    this.#overflow.set(limit.category, count);
    return count;
  }
}

/** Returns a rejection if Redis has already reported that a limit is exhausted in this window. */
export function rejectExhausted(limits: readonly Limit[], { counts, resetMs }: Snapshot): Decision | undefined {
  const remaining = limits.map(({ limit }, index) => limit - (counts[index]?.inRedis ?? 0));
  if (remaining.every(isPositive)) return undefined;
  return toDecision(limits, { allowed: false, mode: 'exact', resetMs, remaining });
}

const isPositive = (remaining: number): boolean => remaining > 0;

function emptyCount({ category, subject }: Limit): Count {
  return { category, subject, inRedis: 0, local: 0, reported: 0 };
}
