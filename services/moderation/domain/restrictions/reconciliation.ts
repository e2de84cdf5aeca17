import type { Database } from '#kit/postgres/pool.ts';
import type { ListedRestriction, Page, Restrictions } from '#platforms/roblox/restrictions.ts';
import type { ModerationEvents } from '../../events.ts';
import { RESTRICTION_TASKS } from '../../store/mirror-tasks.ts';
import type { UniverseCheck } from '../../store/mirrored-universes.ts';
import * as store from '../../store/restriction-drift.ts';

/** The maximum number of pages of 100 restrictions that one comparison reads, in all places together. */
const MAX_PAGES = 20_000;
const MAX_PLACES = 100;
const BATCH = 500;
/** The maximum number of events of differences that one comparison records; the others are only counted. */
const MAX_EVENTS = 100;

/** Thrown for a universe with more restrictions than one comparison reads. */
export class TooManyRestrictions extends Error {
  constructor(maxPages: number) {
    super(`the universe has more than ${maxPages} pages of restrictions`);
    this.name = 'TooManyRestrictions';
  }
}

export interface ReconciliationOptions {
  database: Database;
  restrictions: Restrictions;
  events: ModerationEvents;
  /** Called when players were queued. */
  wake: () => void;
  /** The maximum number of pages that one comparison reads; 20,000 if left out. */
  maxPages?: number;
}

/** The numbers of a comparison of all bans. */
export interface ReconciliationResult {
  /** The restrictions that the platform lists. */
  compared: number;
  /** The differences that nothing was going to resolve. */
  drifted: number;
}

/**
 * Compares all bans of a guild with all restrictions of a universe, and queues the players for whom they differ. The
 * comparison itself changes no ban and no restriction.
 */
export class Reconciliation {
  readonly #options: ReconciliationOptions;

  constructor(options: ReconciliationOptions) {
    this.#options = options;
  }

  /**
   * Compares everything in a universe. Throws if `signal` is aborted, or if the platform cannot be read, and
   * TooManyRestrictions if there is too much to read.
   */
  async run(universe: UniverseCheck, signal: AbortSignal): Promise<ReconciliationResult> {
    const differences = new Differences(universe, this.#options);
    /** The players with a restriction, by place. */
    const listed = new Map<number | null, Set<number>>();
    const places = await store.listPlaces(this.#options.database, universe, MAX_PLACES);
    const pages = { left: this.#options.maxPages ?? MAX_PAGES };
    for (const placeId of [null, ...places]) {
      listed.set(placeId, await this.#compareListed(universe, { placeId, pages }, differences, signal));
    }
    await this.#compareMirrors(universe, listed, differences, signal);
    await this.#compareBans(universe, differences, signal);
    const compared = [...listed.values()].reduce((sum, players) => sum + players.size, 0);
    return { compared, drifted: differences.drifted };
  }

  /** Compares the restrictions that the platform lists. Returns the players that it lists. */
  async #compareListed(
    universe: UniverseCheck,
    { placeId, pages }: { placeId: number | null; pages: { left: number } },
    differences: Differences,
    signal: AbortSignal,
  ): Promise<Set<number>> {
    const { database, restrictions, maxPages = MAX_PAGES } = this.#options;
    const players = new Set<number>();
    let token: string | undefined;
    while (pages.left > 0) {
      pages.left -= 1;
      signal.throwIfAborted();
      const page: Page<ListedRestriction> = await restrictions.list(universe.universeId, placeId, token);
      const seen = page.items.map(({ userId, ...restriction }) => ({ gameId: userId, ...restriction }));
      for (const { gameId } of seen) players.add(gameId);
      await differences.add(await store.findChanged(database, universe, seen), { isListed: true });
      token = page.next;
      if (token === undefined) return players;
    }
    throw new TooManyRestrictions(maxPages);
  }

  /** Finds restrictions that should be in force and that the platform does not list, and those of ended bans. */
  async #compareMirrors(
    universe: UniverseCheck,
    listed: ReadonlyMap<number | null, ReadonlySet<number>>,
    differences: Differences,
    signal: AbortSignal,
  ): Promise<void> {
    let after: { gameId: number; placeId: number | null } = { gameId: 0, placeId: null };
    for (;;) {
      signal.throwIfAborted();
      const walked = await store.walkMirrors(this.#options.database, universe, after, BATCH);
      const isMissing = ({ gameId, placeId }: store.WalkedMirror) => listed.get(placeId)?.has(gameId) === false;
      // The platform lists everybody who was ever restricted. What it does not list it has lost, and nobody has lifted.
      await differences.add(walked.filter(isMissing), { isLost: true });
      await differences.add(walked.filter((mirror) => mirror.isEnded && !isMissing(mirror)));
      const last = walked.at(-1);
      if (!last || walked.length < BATCH) return;
      after = last;
    }
  }

  /** Finds bans in force that are not mirrored. */
  async #compareBans(universe: UniverseCheck, differences: Differences, signal: AbortSignal): Promise<void> {
    let after: store.WalkedBan | undefined;
    for (;;) {
      signal.throwIfAborted();
      const bans = await store.walkBans(this.#options.database, universe, after, BATCH);
      await differences.add(bans.filter(({ isMirrored }) => !isMirrored));
      if (bans.length < BATCH) return;
      after = bans.at(-1);
    }
  }
}

/** Collects the differences that a comparison finds, and queues their players. */
class Differences {
  /** The number of differences that nothing was going to resolve. */
  drifted = 0;
  readonly #universe: UniverseCheck;
  readonly #options: ReconciliationOptions;
  #events = 0;

  constructor(universe: UniverseCheck, options: ReconciliationOptions) {
    this.#universe = universe;
    this.#options = options;
  }

  /** `isListed`: the platform lists them. `isLost`: the platform has lost the restrictions. */
  async add(
    found: readonly store.Difference[],
    { isListed, isLost }: { isListed?: boolean; isLost?: boolean } = {},
  ): Promise<void> {
    if (found.length === 0) return;
    const { database, events, wake } = this.#options;
    const { guildId, universeId, isNew } = this.#universe;
    // Before the first comparison of a universe nothing was equal yet.
    const unexpected = isNew ? [] : found.filter(({ isUnexpected }) => isUnexpected);
    const reported = unexpected.slice(0, MAX_EVENTS - this.#events);
    await database.transaction(async (transaction) => {
      const players = found.map(({ gameId }) => gameId);
      await RESTRICTION_TASKS.queue(transaction, guildId, players);
      await store.markForReading(transaction, { guildId, universeId }, found, { isListed });
      if (isLost) await store.forgetAgreements(transaction, { guildId, universeId }, found);
      if (unexpected.length > 0)
        await store.markForReading(transaction, { guildId, universeId }, unexpected, { isDrift: true });
      const states = reported.length > 0 ? await store.findStates(transaction, { guildId, universeId }, reported) : [];
      await events.record(
        transaction,
        states.map((state) => events.drifted(guildId, { universeId, ...state })),
      );
    });
    this.drifted += unexpected.length;
    this.#events += reported.length;
    wake();
  }
}
