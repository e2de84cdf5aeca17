import type { Clock } from '#kit/clock.ts';
import { ApiError, invalidRequest, quotaExceeded } from '#kit/errors.ts';
import { ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { QuotaUse } from '#kit/usage/quota-use.ts';
import type { ModerationEvents } from '../events.ts';
import * as store from '../store/shield.ts';
import type { ModerationTelemetry } from '../telemetry.ts';
import { ALL_GUILDS, type ShieldEntry } from './shield-entry.ts';

/** An entry of the flagged list before it is stored. */
export type NewEntry = Omit<ShieldEntry, 'flaggedAt'>;

export interface ShieldOptions {
  database: Database;
  idempotency: Idempotency;
  clock: Clock;
  /** The maximum number of entries in a guild's own flagged list. The flagged list for all guilds has no maximum. */
  maxEntries: number;
  telemetry: ModerationTelemetry;
  events: ModerationEvents;
  /** Called with the guild ID after an entry of the guild's list of flagged players was added, replaced or removed. */
  onChange: (guildId: string) => void;
}

/**
 * Adds, removes and lists entries of the flagged list: players whom operators have flagged, in one guild or in all
 * guilds, or whom a guild has flagged through the REST API. Changes of a guild's own list are reported as events;
 * changes of the list for all guilds are not.
 */
export class Shield {
  readonly #options: ShieldOptions;

  constructor(options: ShieldOptions) {
    this.#options = options;
  }

  /**
   * Adds an entry to the flagged list, or replaces the player's entry. Throws QUOTA_EXCEEDED if the entry is new and
   * the list is full.
   */
  async add(entry: NewEntry): Promise<ShieldEntry> {
    const added = { ...entry, flaggedAt: this.#now() };
    await this.#options.database.transaction((transaction) => this.#put(transaction, added));
    this.#afterChange('add', added, entry.actor);
    return added;
  }

  /**
   * Adds or replaces an entry of a guild's own list like `add`, for a client of the REST API. Throws INVALID_REQUEST if
   * the entry has expired already.
   */
  async flag<View>(
    write: IdempotentWrite,
    entry: NewEntry,
    view: (added: ShieldEntry) => View,
  ): Promise<WriteOutcome<View>> {
    let added: ShieldEntry | undefined;
    const outcome = await this.#options.idempotency.inTransaction(write, async (transaction) => {
      const flaggedAt = this.#now();
      if (entry.expiresAt && entry.expiresAt <= flaggedAt) {
        throw invalidRequest([{ path: 'body.expires_at', message: 'must be in the future' }]);
      }
      const flagged = { ...entry, flaggedAt };
      await this.#put(transaction, flagged);
      added = flagged;
      return ok(view(flagged));
    });
    if (added) this.#afterChange('add', added, entry.actor);
    return outcome;
  }

  /**
   * Removes an entry of a guild's own list like `remove`, for a client of the REST API; `actor` is the prefix of the
   * API key.
   */
  async unflag<View>(
    write: IdempotentWrite,
    gameId: number,
    actor: string,
    view: (removed: ShieldEntry) => View,
  ): Promise<WriteOutcome<View>> {
    let removed: ShieldEntry | undefined;
    const outcome = await this.#options.idempotency.inTransaction(write, async (transaction) => {
      removed = (await this.#delete(transaction, write.guildId, gameId)) ?? notOnList();
      return ok(view(removed));
    });
    if (removed) this.#afterChange('remove', removed, actor);
    return outcome;
  }

  /** Removes a player's entry from the flagged list; `actor` is the operator. Throws NOT_FOUND if there is no entry. */
  async remove(guildId: string, gameId: number, actor: string): Promise<ShieldEntry> {
    const { database } = this.#options;
    const removed = await database.transaction((transaction) => this.#delete(transaction, guildId, gameId));
    if (!removed) return notOnList();
    this.#afterChange('remove', removed, actor);
    return removed;
  }

  /** Returns a page of the flagged list, ordered by the player's game ID. Includes expired entries. */
  list(guildId: string, limit: number, afterGameId: number): Promise<ShieldEntry[]> {
    return store.listEntries(this.#options.database, guildId, limit, afterGameId);
  }

  /** Returns a page of a guild's own flagged list, ordered by the player's game ID, without expired entries. */
  listUnexpired(guildId: string, limit: number, afterGameId: number): Promise<ShieldEntry[]> {
    return store.listUnexpired(this.#options.database, guildId, { afterGameId, now: this.#now(), limit });
  }

  /** Returns how many entries a guild's own list has, and how many it may have. */
  async quota(guildId: string): Promise<QuotaUse> {
    const { database, maxEntries } = this.#options;
    return {
      quota: 'shield_entries',
      limit: maxEntries,
      used: await store.countEntries(database, guildId, maxEntries),
    };
  }

  /** Stores an entry and records its event. Throws QUOTA_EXCEEDED if the entry is new and the list is full. */
  async #put(transaction: Transaction, entry: ShieldEntry): Promise<void> {
    const { maxEntries, events } = this.#options;
    if (entry.guildId === ALL_GUILDS) {
      await store.putEntry(transaction, entry, undefined);
      return;
    }
    await store.lockList(transaction, entry.guildId);
    const replaced = await store.lockEntry(transaction, entry.guildId, entry.gameId);
    if (!(await store.putEntry(transaction, entry, replaced ? undefined : maxEntries))) {
      const message = `The guild has ${maxEntries} entries in its flagged list, which is the maximum`;
      throw quotaExceeded('shield_entries', maxEntries, message);
    }
    await events.record(transaction, [events.shieldAdded(entry, replaced)]);
  }

  /** Deletes an entry and records its event. Returns undefined if there is no entry. */
  async #delete(transaction: Transaction, guildId: string, gameId: number): Promise<ShieldEntry | undefined> {
    const { events } = this.#options;
    const removed = await store.deleteEntry(transaction, guildId, gameId);
    // The expiry of the entry was already reported as an event, so its removal needs no event.
    if (removed && guildId !== ALL_GUILDS && !removed.isExpiryReported) {
      await events.record(transaction, [events.shieldRemoved(removed)]);
    }
    return removed;
  }

  #afterChange(change: 'add' | 'remove', entry: ShieldEntry, actor: string): void {
    this.#options.onChange(entry.guildId);
    this.#options.telemetry.shieldChanged(change, entry, actor);
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}

function notOnList(): never {
  throw new ApiError('NOT_FOUND', { message: 'The player is not on this list' });
}
