import type { Clock } from '#kit/clock.ts';
import { type Decision, type Limit, type Limiter, toDecision, WINDOW_MS } from './limiter.ts';
import type { Answer } from './redis.ts';
import { RedisClock } from './redis-clock.ts';

/** What this process knows of one limit in the current window. */
interface Count {
  category: Limit['category'];
  subject: string;
  /** How many passed in all gateways, as Redis last said. */
  told: number;
  /** How many this process let through by itself. */
  own: number;
  /** How many of those Redis knows of. */
  reported: number;
}

/** The counts of one request's limits at one moment. */
export interface Snapshot {
  window: number;
  /** When it was taken, Unix milliseconds. */
  takenAt: number;
  resetMs: number;
  counts: Count[];
  /** Each count's `own` at that moment. */
  own: number[];
  /** How many Redis should count at least; it may have been out of reach, or have lost its counts. */
  known: number[];
}

export interface MemoryLimiterOptions {
  clock: Clock;
  /** How many gateways decide by themselves when this one does; each takes its share of what is left. */
  replicas?: number;
  windowMs?: number;
  /** The most subjects that are counted apart. */
  maxSubjects?: number;
}

/** Some 150 bytes each. */
const MAX_SUBJECTS = 200_000;

/**
 * Counts in this process. What Redis tells is kept beside it, so that a decision without Redis goes on from there:
 * what this process lets through by itself weighs as if each replica had done the same, here and when Redis is back.
 * So together they let through what was left, and in a fresh window each lets through ceil(limit / replicas).
 *
 * At most `maxSubjects` are counted apart. Beyond that the further subjects of a category share one count until the
 * window ends: some are refused too early, none gets more than its limit, and no live count is ever dropped.
 */
export class MemoryLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #replicas: number;
  readonly #windowMs: number;
  readonly #maxSubjects: number;
  /** By guild, which has few of them. All windows end at once, so the counts of past ones go in one step. */
  readonly #counts = new Map<string, Count[]>();
  #subjects = 0;
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

  /** Decides in this process alone; `exact` where it is the only one. */
  decide(guildId: string, limits: readonly Limit[]): Decision {
    const resetMs = this.#enterWindow();
    const counts = limits.map((limit) => this.#find(guildId, limit) ?? this.#shared(limit));
    const left = () => limits.map(({ limit }, index) => this.#left(limit, counts[index]));
    const allowed = left().every(isLeft);
    if (allowed) for (const count of counts) count.own += 1;
    return toDecision(limits, {
      allowed,
      mode: this.#replicas === 1 ? 'exact' : 'degraded',
      resetMs,
      remaining: left(),
    });
  }

  /** What is known before Redis is asked. */
  snapshot(guildId: string, limits: readonly Limit[]): Snapshot {
    const takenAt = this.#clock.now();
    const resetMs = this.#enterWindow(takenAt);
    const counts = limits.map((limit) => this.#find(guildId, limit) ?? emptyCount(limit));
    const known = counts.map(({ told, own, reported }) => told + this.#replicas * (own - reported));
    const own = counts.map((count) => count.own);
    return { window: this.#window, takenAt, resetMs, counts, own, known };
  }

  /** Keeps what Redis answered to a request that was asked with this snapshot. */
  learn(guildId: string, limits: readonly Limit[], asked: Snapshot, answer: Answer): void {
    this.#redisClock.learn((answer.window + 1) * this.#windowMs - answer.resetMs, asked.takenAt);
    this.#enterWindow();
    if (answer.window !== this.#window || answer.isLate) return;
    const isSame = asked.window === answer.window;
    const counts = isSame ? asked.counts : this.snapshot(guildId, limits).counts;
    for (const [index, count] of counts.entries()) {
      count.told = Math.max(count.told, answer.counts[index] ?? 0);
      if (isSame) count.reported = Math.max(count.reported, asked.own[index] ?? 0);
    }
  }

  /** When it will be so many milliseconds after a snapshot by Redis's clock; 0 while nothing is known of that. */
  deadline(asked: Snapshot, milliseconds: number): number {
    return this.#redisClock.isKnown ? Math.ceil(this.#redisClock.at(asked.takenAt)) + milliseconds : 0;
  }

  /** Milliseconds until the current window ends; forgets all counts when it is a new one. */
  #enterWindow(time = this.#clock.now()): number {
    const now = this.#redisClock.at(time);
    const window = Math.floor(now / this.#windowMs);
    // A clock that is set back by a moment at the edge must not bring a second fresh window.
    if (window !== this.#window && window !== this.#window - 1) {
      this.#window = window;
      this.#counts.clear();
      this.#subjects = 0;
      this.#overflow.clear();
    }
    return Math.ceil((this.#window + 1) * this.#windowMs - now);
  }

  /** How many this process may still let through: its share of what is not known to have passed. */
  #left(limit: number, count: Count | undefined): number {
    if (count === undefined) return 0;
    return Math.ceil((limit - count.told) / this.#replicas) - (count.own - count.reported);
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

/** Refused without a call where Redis has already said that a limit is used up in this window. */
export function refuseExhausted(limits: readonly Limit[], { counts, resetMs }: Snapshot): Decision | undefined {
  const remaining = limits.map(({ limit }, index) => limit - (counts[index]?.told ?? 0));
  if (remaining.every(isLeft)) return undefined;
  return toDecision(limits, { allowed: false, mode: 'exact', resetMs, remaining });
}

const isLeft = (remaining: number): boolean => remaining > 0;

function emptyCount({ category, subject }: Limit): Count {
  return { category, subject, told: 0, own: 0, reported: 0 };
}
