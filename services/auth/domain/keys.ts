import type { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { decodeCursor, encodeCursor } from '#kit/http/cursor.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { makeApiKey, readApiKey } from '#kit/security/api-key.ts';
import type { RandomBytes } from '#kit/security/base62.ts';
import type { requests } from '../grpc/requests.ts';
import { appendEntries } from '../store/audit.ts';
import * as store from '../store/keys.ts';
import type { AuthEvents } from '../telemetry.ts';
import { type Deed, ownEntry } from './audit/entry.ts';
import { encodeChange, RECENT_MS } from './changes.ts';
import {
  formatKeyId,
  isActive,
  type KeyRecord,
  type KeyRef,
  type KeySettings,
  MAX_ACTIVE_KEYS,
  parseKeyId,
} from './key.ts';

/** How long rotated secrets are kept after they stopped working: whoever reads changes late still learns of them. */
const RETIRED_SECRET_MS = 3_600_000;

type Asked<Name extends keyof typeof requests> = z.output<
  (typeof requests)[Name] extends (now: number) => infer Schema ? Schema : (typeof requests)[Name]
>;

export interface NewSecret {
  key: KeyRecord;
  /** The key itself, for its owner: it is nowhere else. */
  secret: string;
}

export interface KeyAdminOptions {
  database: Database;
  clock: Clock;
  random: RandomBytes;
  events: AuthEvents;
}

/**
 * Makes and changes keys. Each change is one transaction under the lock of the guild, with its row in the audit and
 * with the notification, so that it is told if and only if it was committed.
 */
export class KeyAdmin {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #random: RandomBytes;
  readonly #events: AuthEvents;

  constructor({ database, clock, random, events }: KeyAdminOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#random = random;
    this.#events = events;
  }

  /** CONFLICT when the guild has ten active keys. */
  async create(asked: Asked<'create'>): Promise<NewSecret> {
    const { guild_id: guildId, note } = asked;
    const settings: KeySettings = {
      name: asked.name,
      scopes: asked.legacy ? null : asked.scopes,
      ipAllowlist: asked.ip_allowlist,
      rateLimit: asked.rate_limit,
      expiresAt: asDate(asked.expires_at),
    };
    const { secret, ...stored } = this.#newSecret(guildId);
    const key = await this.#database.transaction(async (transaction) => {
      const number = await store.takeNumber(transaction, guildId);
      const now = this.#now();
      await this.#refuseEleventh(transaction, guildId, now);
      await store.insertKey(transaction, { guildId, number }, settings, now);
      await store.insertSecret(transaction, { guildId, number }, stored);
      const details = { ...describe(settings), prefix: stored.prefix };
      return this.#finishOne(transaction, { guildId, number }, now, { action: 'create', note, details });
    });
    this.#events.keysChanged('create', [key]);
    return { key, secret };
  }

  /** CONFLICT when the key is revoked, or when it would be active again and the guild has ten others. */
  async update({ key_id: ref, note, ...asked }: Asked<'update'>): Promise<KeyRecord> {
    const key = await this.#change(ref, async (transaction, before, now) => {
      if (before.revokedAt) throw new ApiError('CONFLICT', { message: 'The key is revoked and can not be changed' });
      const after: KeySettings = {
        name: asked.name ?? before.name,
        scopes: asked.scopes ?? before.scopes,
        ipAllowlist: asked.ip_allowlist ?? before.ipAllowlist,
        rateLimit: asked.rate_limit === undefined ? before.rateLimit : asked.rate_limit,
        expiresAt: asked.expires_at === undefined ? before.expiresAt : asDate(asked.expires_at),
      };
      const isRevived = !isActive(before, now) && isActive({ ...before, ...after }, now);
      if (isRevived) await this.#refuseEleventh(transaction, ref.guildId, now);
      await store.updateSettings(transaction, ref, after, now);
      return this.#finishOne(transaction, ref, now, { action: 'update', note, details: defined(asked) });
    });
    this.#events.keysChanged('update', [key]);
    return key;
  }

  /** A new secret for the same key; the one before works for the grace that is asked. CONFLICT when it is revoked. */
  async rotate({ key_id: ref, grace_seconds: grace, note }: Asked<'rotate'>): Promise<NewSecret> {
    const { secret, ...stored } = this.#newSecret(ref.guildId);
    const key = await this.#change(ref, async (transaction, before, now) => {
      if (before.revokedAt) throw new ApiError('CONFLICT', { message: 'The key is revoked and can not be rotated' });
      await store.retireSecret(transaction, ref, new Date(now.getTime() + grace * 1000), now);
      await store.deleteRetiredSecrets(transaction, ref, new Date(now.getTime() - RETIRED_SECRET_MS));
      await store.insertSecret(transaction, ref, stored);
      const details = { grace_seconds: grace, from: before.prefix, to: stored.prefix };
      return this.#finishOne(transaction, ref, now, { action: 'rotate', note, details });
    });
    this.#events.keysChanged('rotate', [key]);
    return { key, secret };
  }

  /** A key that is revoked already stays as it is. */
  async revoke(asked: Asked<'revoke'>): Promise<KeyRecord> {
    return (await this.revokeOnce(asked, {})).key;
  }

  /** Revokes a key, and tells whether it was not revoked before. `details` go into the audit. */
  async revokeOnce(
    { key_id: ref, note }: Asked<'revoke'>,
    details: Record<string, unknown>,
  ): Promise<{ key: KeyRecord; isNew: boolean }> {
    let revoked = false;
    const key = await this.#change(ref, async (transaction, before, now) => {
      if (before.revokedAt) return before;
      revoked = true;
      await store.revokeKeys(transaction, ref.guildId, ref.number, now);
      return this.#finishOne(transaction, ref, now, { action: 'revoke', note, details });
    });
    if (revoked) this.#events.keysChanged('revoke', [key]);
    return { key, isNew: revoked };
  }

  /** Revokes all keys of a guild that are not revoked yet, and returns those. */
  async revokeGuild({ guild_id: guildId, note }: Asked<'revokeGuild'>): Promise<KeyRecord[]> {
    const keys = await this.#database.transaction(async (transaction) => {
      await store.lockGuild(transaction, guildId);
      const now = this.#now();
      const numbers = await store.revokeKeys(transaction, guildId, null, now);
      return this.#finish(transaction, guildId, numbers, now, { action: 'revoke', note, details: { all: true } });
    });
    this.#events.keysChanged('revoke', keys);
    return keys;
  }

  /**
   * A page of the keys of a guild, those not revoked first, the newest first; with a filter only active keys, of one guild
   * or of all, ordered by guild.
   */
  async list(asked: Asked<'list'>): Promise<{ keys: KeyRecord[]; nextCursor: string }> {
    const { guild_id: guildId, limit, cursor, expires_before: expiresBefore, unused_since: unusedSince } = asked;
    const filters = { expiresBefore, unusedSince };
    // Without the times: those that are relative to now are others with each page.
    const scope = { route: 'keys', guildId: guildId ?? '' };
    const position = cursor === '' ? undefined : decodeCursor(scope, cursor, 'request.cursor');
    const keys =
      guildId !== null && !expiresBefore && !unusedSince
        ? await store.selectKeyPage(this.#database, guildId, this.#now(), readState(position), limit)
        : await store.selectFilteredKeys(this.#database, { guildId, ...filters }, this.#now(), refOf(position), limit);
    const last = keys.at(-1);
    const isLast = keys.length < limit || last === undefined;
    const state = last?.revokedAt ? 'revoked' : 'active';
    return { keys, nextCursor: isLast ? '' : encodeCursor(scope, `${state} ${formatKeyId(last)}`) };
  }

  /** Notes an erasure. Of a user it says nothing: the audit is kept, and what it is about is not. */
  async recordErasure({ guild_id: guildId, what, state, removed, note }: Asked<'erasure'>): Promise<void> {
    const action = what === 'guild' ? 'erase_guild' : 'erase_user';
    const rows = Object.fromEntries(removed.map((each) => [each.table, each.rows]));
    const details = state === 'done' ? { state, removed: rows } : { state };
    await appendEntries(this.#database, guildId, [null], ownEntry(this.#now(), { action, note, details }));
    this.#events.erasureRecorded(guildId, action, state);
  }

  /**
   * Whether the keys of a guild may be forgotten: all are revoked, and for so long that every gateway has heard of it,
   * also one that had to read the latest changes again. CONFLICT while one is not revoked.
   */
  async mayBeForgotten(guildId: string): Promise<boolean> {
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
    if (!read) throw new Error('a new key could not be read');
    return { secret, hash: read.hash, prefix: read.prefix };
  }

  /** A change of one key, under the lock of its guild; NOT_FOUND when there is no such key. */
  #change(
    { guildId, number }: KeyRef,
    work: (transaction: Queryable, before: KeyRecord, now: Date) => Promise<KeyRecord>,
  ): Promise<KeyRecord> {
    return this.#database.transaction(async (transaction) => {
      await store.lockGuild(transaction, guildId);
      // Read with the lock held: what waited for it must not look older than what went before.
      const now = this.#now();
      const [before] = await store.selectKeys(transaction, guildId, now, [number]);
      if (!before) throw new ApiError('NOT_FOUND', { message: 'There is no such key' });
      return work(transaction, before, now);
    });
  }

  async #refuseEleventh(transaction: Queryable, guildId: string, now: Date): Promise<void> {
    if ((await store.countActive(transaction, guildId, now)) < MAX_ACTIVE_KEYS) return;
    this.#events.keyRefusedOverLimit(guildId);
    throw new ApiError('CONFLICT', {
      message: `The guild has ${MAX_ACTIVE_KEYS} active keys, which is the most: revoke one first`,
    });
  }

  async #finishOne(transaction: Queryable, { guildId, number }: KeyRef, now: Date, deed: Deed): Promise<KeyRecord> {
    const [key] = await this.#finish(transaction, guildId, [number], now, deed);
    if (!key) throw new Error('a key that was just changed is not there');
    return key;
  }

  /** Writes the audit, lets the change be told once it is committed, and reads what the keys are now. */
  async #finish(
    transaction: Queryable,
    guildId: string,
    numbers: number[],
    now: Date,
    deed: Deed,
  ): Promise<KeyRecord[]> {
    if (numbers.length === 0) return [];
    await appendEntries(transaction, guildId, numbers, ownEntry(now, deed));
    const changes = await store.selectChanges(transaction, guildId, numbers);
    await store.notifyChanges(transaction, changes.map(encodeChange));
    return store.selectKeys(transaction, guildId, now, numbers);
  }
}

/** The key that a cursor names. */
function refOf(position: string | undefined): KeyRef {
  return parseKeyId(position?.split(' ')[1] ?? '') ?? { guildId: '', number: 0 };
}

function readState(position: string | undefined): { isRevoked: boolean; number: number } | undefined {
  return position === undefined
    ? undefined
    : { isRevoked: position.startsWith('revoked'), number: refOf(position).number };
}

function asDate(seconds: number | null): Date | null {
  return seconds === null ? null : new Date(seconds * 1000);
}

/** Settings as the audit shows them. */
function describe({ name, scopes, ipAllowlist, rateLimit, expiresAt }: KeySettings): Record<string, unknown> {
  const expiry = expiresAt && expiresAt.getTime() / 1000;
  return {
    name,
    scopes,
    legacy: scopes === null,
    ip_allowlist: ipAllowlist,
    rate_limit: rateLimit,
    expires_at: expiry,
  };
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
