import type { Database } from '../postgres/pool.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type AttemptResult, Attempts } from './attempt.ts';
import type { ItemKey, QueueDefinition, QueueLimits } from './definition.ts';
import { InFlight } from './in-flight.ts';
import { QueueMetrics } from './metrics.ts';
import { itemKey, QueueStore } from './store.ts';

/** Guilds that are read together. */
const GUILDS_PAGE = 100;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;
/** After this many items of a guild in an ordered queue, other guilds get the slot. */
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
   * The last guild that was reached when a pause ended a walk through the guilds; empty otherwise. The next walk continues
   * there, so that guilds whose items always fail do not use up each moment between two pauses.
   */
  #reached = '';
  /** Something due was not started, because it or its guild was in flight or there was no free slot. */
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

  /** Looks for due items. */
  wake(): void {
    this.#isWanted = true;
    if (this.#isStopped || this.#pauseTimer) return;
    this.#dispatching ??= this.#dispatch().finally(() => {
      this.#dispatching = undefined;
      // It was woken after it had looked for the last time.
      if (this.#isWanted) this.wake();
    });
  }

  /**
   * Attempts an item of an unordered queue that was just committed, without looking for it, and returns when the attempt
   * has ended or another process has the item. Returns false without an attempt if there is no free slot: the item then
   * waits like any other. Never rejects.
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

  /** Reads the figures for the metrics. */
  async readStats(): Promise<void> {
    const stats = await this.#store.stats();
    this.metrics.read(stats);
    await this.definition.statsRead?.(stats);
  }

  /** Starts no more attempts, and waits for those in flight. */
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

  /** Starts the due items of all guilds after the one that was reached, until a pause. */
  async #walk(): Promise<void> {
    for (let found = GUILDS_PAGE; found === GUILDS_PAGE; ) {
      const guilds = await (this.definition.ordered ? this.#startGuilds() : this.#startItems());
      if (!guilds) return;
      found = guilds.length;
      this.#reached = guilds.at(-1)?.guildId ?? '';
    }
    this.#reached = '';
  }

  /** Starts each guild of a page whose head is due. Returns the page; undefined if a pause began meanwhile. */
  async #startGuilds(): Promise<readonly { guildId: string }[] | undefined> {
    const heads = await this.#store.heads(this.#reached, GUILDS_PAGE);
    for (const { guildId, isDue } of heads) {
      if (isDue && !(await this.#startWhenFree(guildId, guildId, () => this.#handleGuild(guildId)))) return undefined;
      this.#reached = guildId;
    }
    return heads;
  }

  /**
   * Starts due items of a page of guilds: first one of each guild, then a second one of each, so that no guild waits for
   * another's items. Returns the page; undefined if a pause began meanwhile.
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

  /** Waits for a free slot; starts nothing if the guild has no slot by then. False if a pause began meanwhile. */
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
        this.#log.warn({ err: error, queue: this.definition.name }, 'failed to take or finish a queue item');
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

  /** Handles a guild's items one after the other, until there are none, one has to wait, or it is other guilds' turn. */
  async #handleGuild(guildId: string): Promise<void> {
    for (let handled = 0; handled < MAX_ITEMS_IN_A_ROW; handled++) {
      if (this.#isStopped || (await this.#attempt(guildId)) !== 'over') return;
    }
    this.#isMoreDue = true;
  }

  /** If what the queue needs may be down, nothing is started for a moment, longer each time. */
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

/** One item of each guild, then a second one of each, and so on; a guild's items are shuffled. */
function* inTurn(guilds: readonly { guildId: string; ids: readonly string[] }[]): Generator<ItemKey> {
  // Several processes read the same items; in random order they seldom try the same one first.
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
