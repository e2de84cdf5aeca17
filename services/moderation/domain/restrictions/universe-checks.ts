import { withPurpose } from '#kit/context.ts';
import type { EventSweep } from '#kit/events/sweeper.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { whileRenewing } from '#kit/resilience/renewing.ts';
import type { LoggedRestriction, Restrictions } from '#platforms/roblox/restrictions.ts';
import { RESTRICTION_TASKS } from '../../store/mirror-tasks.ts';
import * as universes from '../../store/mirrored-universes.ts';
import { findChanged, markForReading } from '../../store/restriction-drift.ts';
import { readTime } from '../../store/time.ts';
import type { MirrorTelemetry } from '../../telemetry.ts';
import { type Reconciliation, TooManyRestrictions } from './reconciliation.ts';

const LEASE_MS = 30_000;
/** How often a lease is renewed while a universe is read. */
const RENEW_MS = LEASE_MS / 3;
/** Milliseconds until a universe is read again after a failure. */
const RETRY_MS = 15_000;
/** Entries of the log may appear a little later than others of the same time, so the last ones are read again. */
const OVERLAP_MS = 60_000;
/**
 * The maximum number of universes whose bans a process compares at the same time. It is lower than the number of universes
 * that it reads, because a comparison may take half an hour, and the logs of others are to be read meanwhile.
 */
const MAX_COMPARISONS = 2;
/**
 * The maximum number of pages of the log in one reading; if there are more, all bans are compared instead, unless that was
 * given up until the next night.
 */
const MAX_LOG_PAGES = 50;

export interface UniverseChecksOptions {
  database: Database;
  restrictions: Pick<Restrictions, 'logs'>;
  reconciliation: Pick<Reconciliation, 'run'>;
  telemetry: MirrorTelemetry;
  /** Seconds between two readings of what was changed on the platform. */
  pollSeconds: number;
  /** Called when players were queued. */
  wake: () => void;
}

/**
 * Finds out what was changed on the game platform, one universe at a time: it reads the platform's log of changes every
 * few seconds, and compares all bans every night and on demand, of one universe of a guild at a time. Players whose
 * restrictions have changed are queued.
 */
export class UniverseChecks {
  readonly #options: UniverseChecksOptions;
  readonly #stopping = new AbortController();
  #comparisons = 0;

  constructor(options: UniverseChecksOptions) {
    this.#options = options;
  }

  /** The sweep that reads the universe that is due for longest. The replicas share the universes by leases. */
  get sweep(): EventSweep {
    return { name: 'restrictions on the game platform', sweep: () => this.checkNext(), isShared: true };
  }

  /** Ends a reading in flight; it is repeated later. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Reads the universe that is due for longest. Returns false if none is due. */
  async checkNext(): Promise<boolean> {
    const { database, telemetry, pollSeconds } = this.#options;
    const universe = await this.#claim();
    if (!universe) return false;
    const end = { nextMs: pollSeconds * 1_000, logReadTo: universe.logReadTo, error: null };
    try {
      const logReadTo = await this.#leased(universe);
      telemetry.checked();
      await universes.endCheck(database, universe, { ...end, logReadTo });
    } catch (error) {
      telemetry.checkFailed(universe.guildId, universe.universeId, error);
      const message = (error instanceof Error ? error.message : String(error)).slice(0, 300);
      await universes.endCheck(database, universe, { ...end, nextMs: RETRY_MS, error: message });
    } finally {
      if (universe.isReconciling) this.#comparisons -= 1;
    }
    return true;
  }

  /** Leases the universe that is due for longest, for a comparison only if this process may begin another one. */
  async #claim(): Promise<universes.UniverseCheck | undefined> {
    const mayReconcile = this.#comparisons < MAX_COMPARISONS;
    // Counted before the claim, because other loops claim at the same time.
    if (mayReconcile) this.#comparisons += 1;
    let universe: universes.UniverseCheck | undefined;
    try {
      universe = await universes.claimUniverse(this.#options.database, LEASE_MS, mayReconcile);
    } finally {
      if (mayReconcile && !universe?.isReconciling) this.#comparisons -= 1;
    }
    return universe;
  }

  async #leased(universe: universes.UniverseCheck): Promise<Date | null> {
    const lost = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, lost.signal]);
    const renew = async () => {
      if (!(await universes.renewUniverse(this.#options.database, universe, LEASE_MS))) lost.abort();
    };
    return whileRenewing(RENEW_MS, renew, () => withPurpose('job', () => this.#check(universe, signal)));
  }

  /** Returns the time up to which the log was read. */
  async #check(universe: universes.UniverseCheck, signal: AbortSignal): Promise<Date | null> {
    const log = await this.#readLog(universe, signal);
    if (universe.isReconciling) await this.#reconcile(universe, signal);
    else if (!log.isComplete) await universes.needReconciliation(this.#options.database, universe);
    return log.readTo;
  }

  /** Queues the players whose restrictions have changed, as the platform's log says. */
  async #readLog(
    universe: universes.UniverseCheck,
    signal: AbortSignal,
  ): Promise<{ readTo: Date | null; isComplete: boolean }> {
    const { restrictions } = this.#options;
    const until = universe.logReadTo && universe.logReadTo.getTime() - OVERLAP_MS;
    let readTo = universe.logReadTo;
    let token: string | undefined;
    for (let pages = 0; pages < MAX_LOG_PAGES; pages++) {
      signal.throwIfAborted();
      const { items, next } = await restrictions.logs(universe.universeId, token);
      const [newest] = items;
      if (newest && (readTo === null || newest.createdAt > readTo)) readTo = newest.createdAt;
      const unread = items.filter(({ createdAt }) => until === null || createdAt.getTime() > until);
      await this.#note(universe, unread);
      // Before the first reading of the log all bans are compared anyway.
      const isRead = until === null || next === undefined || unread.length < items.length;
      if (isRead) return { readTo: readTo ?? new Date(0), isComplete: true };
      token = next;
    }
    return { readTo, isComplete: false };
  }

  async #note(universe: universes.UniverseCheck, entries: readonly LoggedRestriction[]): Promise<void> {
    const { database, wake } = this.#options;
    const changed = await findChanged(database, universe, latestOf(entries));
    if (changed.length === 0) return;
    await database.transaction(async (transaction) => {
      const players = changed.map(({ gameId }) => gameId);
      await RESTRICTION_TASKS.queue(transaction, universe.guildId, players);
      await markForReading(transaction, universe, changed, { isListed: true });
    });
    wake();
  }

  async #reconcile(universe: universes.UniverseCheck, signal: AbortSignal): Promise<void> {
    const { database, reconciliation, telemetry } = this.#options;
    const startedAt = await readTime(database);
    try {
      const { compared, drifted } = await reconciliation.run(universe, signal);
      await universes.endReconciliation(database, universe, { compared, drifted, startedAt });
      telemetry.reconciled(universe.guildId, universe.universeId, compared, drifted);
    } catch (error) {
      if (!(error instanceof TooManyRestrictions)) throw error;
      // The next attempt would fail in the same way, after reading as much.
      await universes.postponeReconciliation(database, universe, { error: error.message, startedAt });
      telemetry.reconciliationPostponed(universe.guildId, universe.universeId, error);
    }
  }
}

/** Returns the newest entry of each player and place; the entries are ordered from new to old. */
function latestOf(entries: readonly LoggedRestriction[]) {
  const latest = new Map<string, LoggedRestriction>();
  for (const entry of entries) {
    const key = `${entry.userId} ${entry.placeId}`;
    if (!latest.has(key)) latest.set(key, entry);
  }
  return [...latest.values()].map(({ userId, ...restriction }) => ({ gameId: userId, ...restriction }));
}
