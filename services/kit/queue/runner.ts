import type { Database } from '../postgres/pool.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type AttemptResult, Attempts } from './attempt.ts';
import type { QueueDefinition, QueueLimits } from './definition.ts';
import { QueueMetrics } from './metrics.ts';
import { QueueStore } from './store.ts';

/** Guilds whose heads are read together. */
const HEADS_PAGE = 100;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

export interface RunnerOptions {
  database: Database;
  limits: QueueLimits;
  metrics: Metrics;
  log: Logger;
}

/** Dispatches the due items of one queue in this process, up to its concurrency. */
export class QueueRunner {
  readonly definition: QueueDefinition;
  readonly metrics: QueueMetrics;
  readonly #store: QueueStore;
  readonly #attempts: Attempts;
  readonly #log: Logger;
  /** What is in flight: by guild in an ordered queue, else by item. */
  readonly #active = new Map<string, Promise<unknown>>();
  #dispatching: Promise<void> | undefined;
  #isWanted = false;
  /** Something due was left, since it or its guild was in flight or there was no free slot. */
  #isMoreDue = false;
  #isStopped = false;
  #pauseMs = 0;
  #pauseTimer: NodeJS.Timeout | undefined;

  constructor(definition: QueueDefinition, { database, limits, metrics, log }: RunnerOptions) {
    this.definition = definition;
    this.metrics = new QueueMetrics(metrics, definition.name);
    this.#store = new QueueStore(database, definition.table);
    this.#attempts = new Attempts({ definition, limits, store: this.#store, metrics: this.metrics, log });
    this.#log = log;
  }

  /** There may be something due. */
  wake(): void {
    this.#isWanted = true;
    if (this.#isStopped || this.#pauseTimer) return;
    this.#dispatching ??= this.#dispatch().finally(() => (this.#dispatching = undefined));
  }

  /** Reads the figures for the metrics. */
  async readStats(): Promise<void> {
    this.metrics.read(await this.#store.stats());
  }

  /** Starts nothing more, and waits for what is in flight. */
  async drain(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#pauseTimer);
    await this.#dispatching;
    await Promise.all(this.#active.values());
  }

  get #mayStart(): boolean {
    return !this.#isStopped && !this.#pauseTimer;
  }

  async #dispatch(): Promise<void> {
    try {
      while (this.#isWanted && this.#mayStart) {
        this.#isWanted = false;
        await (this.definition.ordered ? this.#startGuilds() : this.#startItems());
      }
    } catch (error) {
      this.#log.warn({ err: error, queue: this.definition.name }, 'failed to read due queue items, will retry');
    }
  }

  /** Starts every guild whose head is due. */
  async #startGuilds(): Promise<void> {
    for (let found = HEADS_PAGE, after = ''; found === HEADS_PAGE; ) {
      const heads = await this.#store.heads(after, HEADS_PAGE);
      for (const { guildId, isDue } of heads) {
        if (!isDue) continue;
        if (this.#active.has(guildId)) this.#isMoreDue = true;
        else await this.#startWhenFree(guildId, () => this.#handleGuild(guildId));
        if (!this.#mayStart) return;
      }
      found = heads.length;
      after = heads.at(-1)?.guildId ?? after;
    }
  }

  /** Starts items that are due, in random order, so that several processes seldom want the same one. */
  async #startItems(): Promise<void> {
    const limit = 2 * this.definition.concurrency;
    const due = await this.#store.due(limit);
    const shuffled = due.map((item) => ({ item, at: Math.random() })).toSorted((a, b) => a.at - b.at);
    for (const { item } of shuffled) {
      const key = `${item.guildId} ${item.id}`;
      if (!this.#active.has(key)) {
        await this.#startWhenFree(key, async () => this.#after(await this.#attempts.next(item.guildId, item.id)));
      }
      if (!this.#mayStart) return;
    }
    if (due.length === limit) this.#isMoreDue = true;
  }

  async #startWhenFree(key: string, work: () => Promise<unknown>): Promise<void> {
    while (this.#active.size >= this.definition.concurrency) await Promise.race(this.#active.values());
    if (!this.#mayStart) return;
    const running: Promise<unknown> = work()
      .catch((error: unknown) =>
        this.#log.warn({ err: error, queue: this.definition.name }, 'failed to record a queue attempt'),
      )
      .finally(() => {
        this.#active.delete(key);
        if (!this.#isMoreDue) return;
        this.#isMoreDue = false;
        this.wake();
      });
    this.#active.set(key, running);
  }

  /** Handles a guild's items one after the other, until there are none or one has to wait. */
  async #handleGuild(guildId: string): Promise<void> {
    while (!this.#isStopped) {
      const result = await this.#attempts.next(guildId);
      this.#after(result);
      if (result !== 'over') return;
    }
  }

  /** What the queue needs may be down: nothing is started for a moment, longer each time. */
  #after(result: AttemptResult | undefined): void {
    if (result === 'over') this.#pauseMs = 0;
    if (result !== 'unavailable' || this.#pauseTimer || this.#isStopped) return;
    this.#pauseMs = Math.min(Math.max(2 * this.#pauseMs, FIRST_PAUSE_MS), MAX_PAUSE_MS);
    this.#pauseTimer = setTimeout(() => {
      this.#pauseTimer = undefined;
      this.wake();
    }, this.#pauseMs).unref();
  }
}
