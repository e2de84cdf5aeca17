import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { RecordedEvent } from '#kit/events/recorder.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import { makeApiKey, readApiKey } from '#kit/security/api-key.ts';
import type { RandomBytes } from '#kit/security/base62.ts';
import type { KeyEvents } from '../events.ts';
import { appendEntries } from '../store/audit.ts';
import * as store from '../store/keys.ts';
import type { AuthTelemetry } from '../telemetry.ts';
import { countPersonChange } from './audit/daily-limit.ts';
import { type OperatorAction, ownEntry } from './audit/entry.ts';
import { encodeChange, RECENT_MS } from './changes.ts';
import { isActive, type KeyPosition, type KeyRecord, type KeyRef, type KeySettings } from './key.ts';
import { requireFreeKey, requireFreeRotation } from './key-limits.ts';
import { areSameSettings, describeSettings, type SettingChanges, withChanges } from './key-settings.ts';

/**
 * How long, in milliseconds, rotated secrets are stored after they stop working, so that key changes still include the
 * hashes of secrets that just stopped working, and so that a secret that leaks later is still found.
 */
const RETIRED_SECRET_MS = 3_600_000;

/** An API key whose secret was just created. */
export interface KeyWithSecret {
  key: KeyRecord;
  /** The secret of the API key as clients send it. Only its hash is stored, so the secret cannot be shown again. */
  secret: string;
}

/**
 * Selects the API keys to list. With one of the times, the list contains only active keys that expire before
 * `expiresBefore` or were not used since `unusedSince`.
 */
export interface KeyListFilter {
  /** The guild whose API keys are listed; null for all guilds. */
  guildId: string | null;
  expiresBefore: Date | null;
  unusedSince: Date | null;
}

/** A report of guildctl about the start or the end of the erasure of a guild or a user. */
export interface ErasureReport {
  guildId: string;
  what: 'guild' | 'user';
  state: 'begun' | 'done';
  removed: readonly { table: string; rows: number }[];
  note: string;
}

export interface KeyAdminOptions {
  database: Database;
  clock: Clock;
  random: RandomBytes;
  telemetry: AuthTelemetry;
  events: KeyEvents;
}

/**
 * Creates and changes API keys. Each change holds the lock of the guild, and shares a transaction with its audit entry,
 * its event and its notification, so that gateways are notified if and only if the change is committed. `note` is the operator's
 * note for the audit; empty if there is none.
 */
export class KeyAdmin {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #random: RandomBytes;
  readonly #telemetry: AuthTelemetry;
  readonly #events: KeyEvents;

  constructor({ database, clock, random, telemetry, events }: KeyAdminOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#random = random;
    this.#telemetry = telemetry;
    this.#events = events;
  }

  /** Creates an API key. Throws CONFLICT if the guild has ten active keys. */
  async create(request: { guildId: string; settings: KeySettings; note: string }): Promise<KeyWithSecret> {
    const { guildId, settings, note } = request;
    const { secret, ...stored } = this.#newSecret(guildId);
    const key = await this.#database.transaction(async (transaction) => {
      const number = await store.takeNumber(transaction, guildId);
      const now = this.#now();
      await requireFreeKey(transaction, guildId, now, this.#telemetry);
      await countPersonChange(transaction, guildId, now);
      await store.insertKey(transaction, { guildId, number }, settings, now);
      await store.insertSecret(transaction, { guildId, number }, stored);
      const details = { ...describeSettings(settings), legacy: settings.scopes === null, prefix: stored.prefix };
      return this.#finishOne(transaction, { guildId, number }, now, { action: 'create', note, details }, (created) => [
        this.#events.created(created),
      ]);
    });
    this.#telemetry.keysChanged('create', [key]);
    return { key, secret };
  }

  /**
   * Changes the settings of an API key. If they are already as requested, nothing is written. Throws CONFLICT if the key
   * is revoked, or if the change would make the key the eleventh active one of the guild.
   */
  async update(request: { key: KeyRef; changes: SettingChanges; note: string }): Promise<KeyRecord> {
    const { key: ref, changes, note } = request;
    let isChanged = false;
    const key = await this.#change(ref, async (transaction, before, now) => {
      if (before.revokedAt) throw new ApiError('CONFLICT', { message: 'The key is revoked and cannot be changed' });
      const after = withChanges(before, changes);
      if (areSameSettings(before, after)) return before;
      isChanged = true;
      await countPersonChange(transaction, ref.guildId, now);
      const becomesActive = !isActive(before, now) && isActive({ ...before, ...after }, now);
      if (becomesActive) await requireFreeKey(transaction, ref.guildId, now, this.#telemetry);
      await store.updateSettings(transaction, ref, after, now);
      const changed = describeSettings(changes);
      const replaced = Object.entries(describeSettings(before)).filter(([name]) => Object.hasOwn(changed, name));
      const action = { action: 'update', note, details: { before: Object.fromEntries(replaced), after: changed } };
      return this.#finishOne(transaction, ref, now, action, (updated) => [this.#events.changed(updated)]);
    });
    if (isChanged) this.#telemetry.keysChanged('update', [key]);
    return key;
  }

  /**
   * Creates a new secret for an API key; the current secret works for `graceSeconds` more. Throws CONFLICT if the key
   * is revoked, or if it has too many rotated secrets that work. Without a grace period none is added, so that a rotation
   * is always possible.
   */
  async rotate(request: { key: KeyRef; graceSeconds: number; note: string }): Promise<KeyWithSecret> {
    const { key: ref, graceSeconds, note } = request;
    const { secret, ...stored } = this.#newSecret(ref.guildId);
    const key = await this.#change(ref, async (transaction, before, now) => {
      if (before.revokedAt) throw new ApiError('CONFLICT', { message: 'The key is revoked and cannot be rotated' });
      await countPersonChange(transaction, ref.guildId, now);
      if (graceSeconds > 0) await requireFreeRotation(transaction, ref, now);
      await store.retireSecret(transaction, ref, new Date(now.getTime() + graceSeconds * 1000), now);
      await store.deleteRetiredSecrets(transaction, ref, new Date(now.getTime() - RETIRED_SECRET_MS));
      await store.insertSecret(transaction, ref, stored);
      const details = { grace_seconds: graceSeconds, from: before.prefix, to: stored.prefix };
      const action = { action: 'rotate', note, details };
      return this.#finishOne(transaction, ref, now, action, (changed) => [this.#events.changed(changed)]);
    });
    this.#telemetry.keysChanged('rotate', [key]);
    return { key, secret };
  }

  /**
   * Revokes an API key. If the key is already revoked, nothing changes, and `isNew` is false. `leak` describes where the
   * key was found in public, for the audit; undefined if it did not leak.
   */
  async revoke(request: {
    key: KeyRef;
    note: string;
    leak?: Record<string, unknown>;
  }): Promise<{ key: KeyRecord; isNew: boolean }> {
    const { key: ref, note, leak } = request;
    let isNew = false;
    const key = await this.#change(ref, async (transaction, before, now) => {
      if (before.revokedAt) return before;
      isNew = true;
      await store.revokeKeys(transaction, ref.guildId, ref.number, now);
      const action = { action: 'revoke', note, details: leak ? { leaked: true, ...leak } : {} };
      return this.#finishOne(transaction, ref, now, action, (revoked) => [
        ...(leak ? [this.#events.leaked(revoked)] : []),
        this.#events.revoked(revoked),
      ]);
    });
    if (isNew) this.#telemetry.keysChanged('revoke', [key]);
    return { key, isNew };
  }

  /** Revokes all API keys of a guild, and returns the keys that were not revoked before. */
  async revokeGuild(guildId: string, note: string): Promise<KeyRecord[]> {
    const keys = await this.#database.transaction(async (transaction) => {
      await store.lockGuild(transaction, guildId);
      const now = this.#now();
      const numbers = await store.revokeKeys(transaction, guildId, null, now);
      const action = { action: 'revoke', note, details: { all: true } };
      return this.#finish(transaction, guildId, numbers, now, action, (key) => [this.#events.revoked(key)]);
    });
    this.#telemetry.keysChanged('revoke', keys);
    return keys;
  }

  /**
   * Returns a page of API keys, starting after the key `after`. Without times in the filter: the keys of the guild,
   * keys that are not revoked first, the newest first. With times: ordered by guild and number.
   */
  list(filter: KeyListFilter, after: KeyPosition | undefined, limit: number): Promise<KeyRecord[]> {
    const { guildId, expiresBefore, unusedSince } = filter;
    return guildId !== null && !expiresBefore && !unusedSince
      ? store.selectKeyPage(this.#database, guildId, this.#now(), after, limit)
      : store.selectFilteredKeys(this.#database, filter, this.#now(), after, limit);
  }

  /**
   * Writes the erasure of a guild or a user into the audit. The entry does not say which user was erased, because the
   * audit is not erased.
   */
  async recordErasure({ guildId, what, state, removed, note }: ErasureReport): Promise<void> {
    const action = what === 'guild' ? 'erase_guild' : 'erase_user';
    const rows = Object.fromEntries(removed.map((each) => [each.table, each.rows]));
    const details = state === 'done' ? { state, removed: rows } : { state };
    const entry = ownEntry(this.#now(), { action, note, details });
    await this.#database.transaction(async (transaction) => {
      if (state === 'begun') await countPersonChange(transaction, guildId, entry.at);
      await appendEntries(transaction, guildId, [null], entry);
    });
    this.#telemetry.erasureRecorded(guildId, action, state);
  }

  /** Writes the export of the data of a user into the audit. The entry does not say which user. */
  async recordExport(guildId: string): Promise<void> {
    const entry = ownEntry(this.#now(), { action: 'export_user', note: '', details: {} });
    await this.#database.transaction(async (transaction) => {
      await countPersonChange(transaction, guildId, entry.at);
      await appendEntries(transaction, guildId, [null], entry);
    });
  }

  /**
   * True if the API keys of a guild may be deleted: all of them were revoked so long ago that every gateway has
   * received the change, even a gateway that missed the notification. Throws CONFLICT if a key is not revoked.
   */
  async mayBeDeleted(guildId: string): Promise<boolean> {
    const { areRevoked, changedAt } = await store.selectKeyStates(this.#database, guildId);
    if (!areRevoked) throw new ApiError('CONFLICT', { message: 'The guild has keys that are not revoked' });
    return changedAt === null || changedAt.getTime() + RECENT_MS < this.#clock.now();
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }

  #newSecret(guildId: string): { secret: string; hash: Buffer; prefix: string } {
    const secret = makeApiKey(guildId, this.#random);
    const read = readApiKey(secret);
    if (!read) throw new Error('the new key could not be parsed');
    return { secret, hash: read.hash, prefix: read.prefix };
  }

  /**
   * Runs `work`, which changes one API key, under the lock of the key's guild. Throws NOT_FOUND if the key does not
   * exist.
   */
  #change(
    { guildId, number }: KeyRef,
    work: (transaction: Transaction, before: KeyRecord, now: Date) => Promise<KeyRecord>,
  ): Promise<KeyRecord> {
    return this.#database.transaction(async (transaction) => {
      await store.lockGuild(transaction, guildId);
      // The time is read while the lock is held: a change that waited for the lock must not be older than the change
      // before it.
      const now = this.#now();
      const [before] = await store.selectKeys(transaction, guildId, now, [number]);
      if (!before) throw new ApiError('NOT_FOUND', { message: 'There is no such key' });
      return work(transaction, before, now);
    });
  }

  async #finishOne(
    transaction: Transaction,
    { guildId, number }: KeyRef,
    now: Date,
    action: OperatorAction,
    eventsOf: (key: KeyRecord) => RecordedEvent[],
  ): Promise<KeyRecord> {
    const [key] = await this.#finish(transaction, guildId, [number], now, action, eventsOf);
    if (!key) throw new Error('a key that was just changed does not exist');
    return key;
  }

  /**
   * Completes a change of API keys: writes the audit entries, notifies gateways when the transaction commits, records
   * the events of each key, and returns the changed keys.
   */
  async #finish(
    transaction: Transaction,
    guildId: string,
    numbers: number[],
    now: Date,
    action: OperatorAction,
    eventsOf: (key: KeyRecord) => RecordedEvent[],
  ): Promise<KeyRecord[]> {
    if (numbers.length === 0) return [];
    await appendEntries(transaction, guildId, numbers, ownEntry(now, action));
    const changes = await store.selectChanges(transaction, guildId, numbers);
    await store.notifyChanges(transaction, changes.map(encodeChange));
    const keys = await store.selectKeys(transaction, guildId, now, numbers);
    await this.#events.record(transaction, keys.flatMap(eventsOf));
    return keys;
  }
}
