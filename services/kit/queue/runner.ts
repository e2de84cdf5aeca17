import { performance } from 'node:perf_hooks';
import type { Database } from '../postgres/pool.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { withoutTrace } from '../telemetry/tracing/current-span.ts';
import { type AttemptResult, Attempts } from './attempt.ts';
import type { ItemKey, QueueDefinition, QueueLimits, TakenItem } from './definition.ts';
import { InFlight } from './in-flight.ts';
import { QueueMetrics } from './metrics.ts';
import { itemKey, QueueStore } from './store.ts';

/** The number of guilds that one query for due queue items reads. */
const GUILDS_PAGE = 100;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;
/**
 * The maximum number of items of one guild that an ordered queue handles one after the other, before other guilds get
 * the slot.
 */
const MAX_ITEMS_IN_A_ROW = 20;

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
  readonly #inFlight: InFlight;
  #dispatching: Promise<void> | undefined;
  #isWanted = false;
  /**
   * The last guild that a search for due items reached before a pause ended the search; empty if the search was
   * complete. The next search continues after this guild, so that guilds whose items always fail do not use up each
   * moment between two pauses.
   */
  #reached = '';
  /**
   * True if a due item was not started, because the item or its guild was in flight or there was no free slot. The
   * runner then looks for due items again when an attempt ends.
   */
  #isMoreDue = false;
  #isStopped = false;
  #pauseMs = 0;
  #pauseTimer: NodeJS.Timeout | undefined;

  constructor(definition: QueueDefinition, { database, limits, metrics, log }: RunnerOptions) {
    this.definition = definition;
    this.metrics = new QueueMetrics(metrics, definition.name);
    this.#store = new QueueStore(database, definition.table);
    const { metrics: own } = this;
    this.#attempts = new Attempts({ definition, limits, database, store: this.#store, metrics: own, log });
    this.#inFlight = new InFlight(definition.concurrency, definition.ordered ? 1 : definition.maxPerGuild);
    this.#log = log;
  }

  /** Starts a search for due items, immediately or after the current search or pause. */
  wake(): void {
    this.#isWanted = true;
    if (this.#isStopped || this.#pauseTimer) return;
    // The items found belong to any requests, not only to the one that called `wake`.
    this.#dispatching ??= withoutTrace(() => this.#dispatch()).finally(() => {
      this.#dispatching = undefined;
      // If `wake` was called after the last search for due items began, another search is needed.
      if (this.#isWanted) this.wake();
    });
  }

  /**
   * Attempts an item of an unordered queue immediately after the commit that enqueued the item, without a search for
   * due items. Returns true when the attempt has ended or another process has the item; false without an attempt if
   * there is no free slot, in which case the item waits like any other. Never rejects.
   */
  async begin(item: ItemKey): Promise<boolean> {
    const key = itemKey(item);
    if (!this.#mayStart || !this.#inFlight.hasSlot(item.guildId) || this.#inFlight.has(key)) {
      this.wake();
      return false;
    }
    await this.#start(item.guildId, key, () => this.#attempt(item.guildId, item.id));
    return true;
  }

  /** Reads the number and age of the queue's items for the metrics. */
  async readStats(): Promise<void> {
    const stats = await this.#store.stats();
    this.metrics.read(stats);
    await this.definition.statsRead?.(stats);
  }

  /** Stops starting attempts, and waits for the attempts in flight. */
  async drain(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#pauseTimer);
    this.#attempts.interrupt();
    await this.#dispatching;
    await this.#inFlight.all();
  }

  get #mayStart(): boolean {
    return !this.#isStopped && !this.#pauseTimer;
  }

  async #dispatch(): Promise<void> {
    try {
      while (this.#isWanted && this.#mayStart) {
        this.#isWanted = false;
        const isContinued = this.#reached !== '';
        await this.#walk();
        if (isContinued) this.#isWanted = true;
      }
    } catch (error) {
      this.#log.warn({ err: error, queue: this.definition.name }, 'failed to read due queue items, will retry');
    }
  }

  /** Searches the guilds after the last one reached for due items, and starts the items found. Ends at a pause. */
  async #walk(): Promise<void> {
    const { maxBatch } = this.definition;
    if (maxBatch !== undefined) return this.#startBatches(maxBatch);
    for (let found = GUILDS_PAGE; found === GUILDS_PAGE; ) {
      const guilds = await (this.definition.ordered ? this.#startGuilds() : this.#startItems());
      if (!guilds) return;
      found = guilds.length;
      this.#reached = guilds.at(-1)?.guildId ?? '';
    }
    this.#reached = '';
  }

  /**
   * Starts handling the items of each guild of a page whose oldest item is due (ordered queues). Returns the guilds of
   * the page, or undefined if a pause began meanwhile.
   */
  async #startGuilds(): Promise<readonly { guildId: string }[] | undefined> {
    const heads = await this.#store.heads(this.#reached, GUILDS_PAGE);
    for (const { guildId, isDue } of heads) {
      if (isDue && !(await this.#startWhenFree(guildId, guildId, () => this.#handleGuild(guildId)))) return undefined;
      this.#reached = guildId;
    }
    return heads;
  }

  /** Leases the due items of the guilds after the last one reached, and starts handling many of them in each call. */
  async #startBatches(maxBatch: number): Promise<void> {
    do {
      await this.#inFlight.untilFree();
      if (!this.#mayStart) return;
      const startedAt = performance.now();
      const { items, reached } = await this.#store.takeHeads(this.#reached, maxBatch, this.definition.leaseMs);
      this.#reached = reached ?? '';
      const [first] = items;
      if (first) void this.#start(first.guildId, itemKey(first), () => this.#handleBatch(items, startedAt));
    } while (this.#reached !== '');
  }

  async #handleBatch(items: readonly TakenItem[], startedAt: number): Promise<void> {
    const result = await this.#attempts.batch(items, startedAt);
    this.#pauseAfter(result);
    // The guilds may have further items.
    if (result === 'over') this.#isMoreDue = true;
  }

  /**
   * Starts due items of a page of guilds: first one item of each guild, then a second item of each, so that no guild
   * waits for all items of another. Returns the guilds of the page, or undefined if a pause began meanwhile.
   */
  async #startItems(): Promise<readonly { guildId: string }[] | undefined> {
    const { concurrency, maxPerGuild = concurrency } = this.definition;
    const guilds = await this.#store.due(this.#reached, GUILDS_PAGE, maxPerGuild);
    for (const { guildId, id } of inTurn(guilds)) {
      const key = itemKey({ guildId, id });
      if (!(await this.#startWhenFree(guildId, key, () => this.#attempt(guildId, id)))) return undefined;
      if (guildId > this.#reached) this.#reached = guildId;
    }
    if (guilds.some(({ ids }) => ids.length === maxPerGuild)) this.#isMoreDue = true;
    return guilds;
  }

  /**
   * Waits for a free slot and then starts the work, unless the guild is at its own limit or the same item is in flight.
   * Returns false if a pause began meanwhile.
   */
  async #startWhenFree(guildId: string, key: string, work: () => Promise<unknown>): Promise<boolean> {
    await this.#inFlight.untilFree();
    if (!this.#mayStart) return false;
    if (this.#inFlight.hasSlot(guildId) && !this.#inFlight.has(key)) void this.#start(guildId, key, work);
    else this.#isMoreDue = true;
    return true;
  }

  async #start(guildId: string, key: string, work: () => Promise<unknown>): Promise<void> {
    await this.#inFlight.add(guildId, key, async () => {
      try {
        await work();
      } catch (error) {
        this.#log.warn({ err: error, queue: this.definition.name }, 'failed to lease or finish an item, will retry');
      }
    });
    if (!this.#isMoreDue) return;
    this.#isMoreDue = false;
    this.wake();
  }

  async #attempt(guildId: string, id?: string): Promise<AttemptResult | undefined> {
    const result = await this.#attempts.next(guildId, id);
    this.#pauseAfter(result);
    return result;
  }

  /**
   * Handles the items of a guild one after the other, until no item is left, one has to wait for a retry, or other
   * guilds get the slot.
   */
  async #handleGuild(guildId: string): Promise<void> {
    for (let handled = 0; handled < MAX_ITEMS_IN_A_ROW; handled++) {
      if (this.#isStopped || (await this.#attempt(guildId)) !== 'over') return;
    }
    this.#isMoreDue = true;
  }

  /**
   * Pauses the queue for a moment if a service that the handler calls may be down; the pause doubles with each such
   * failure.
   */
  #pauseAfter(result: AttemptResult | undefined): void {
    if (result === 'over') this.#pauseMs = 0;
    if (result !== 'unavailable' || this.#pauseTimer || this.#isStopped) return;
    this.#pauseMs = Math.min(Math.max(2 * this.#pauseMs, FIRST_PAUSE_MS), MAX_PAUSE_MS);
    this.#pauseTimer = setTimeout(() => {
      this.#pauseTimer = undefined;
      this.wake();
    }, this.#pauseMs).unref();
  }
}

/** Yields one item of each guild, then a second one of each, and so on; the items of a guild are in random order. */
function* inTurn(guilds: readonly { guildId: string; ids: readonly string[] }[]): Generator<ItemKey> {
  // Several processes read the same due items; in random order they seldom try the same item first.
  const shuffled = guilds.map(({ guildId, ids }) => ({
    guildId,
    ids: ids.map((id) => ({ id, at: Math.random() })).toSorted((left, right) => left.at - right.at),
  }));
  const longest = Math.max(0, ...guilds.map(({ ids }) => ids.length));
  for (let turn = 0; turn < longest; turn++) {
    for (const { guildId, ids } of shuffled) {
      const item = ids[turn];
      if (item) yield { guildId, id: item.id };
    }
  }
}
