import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { currentPurpose, type Purpose } from '#kit/context.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import { inBatches } from '../batch-cache.ts';
import type { GameItem, ItemKind, UnknownOrHidden } from '../game.ts';
import type { PlatformHost } from '../http/host.ts';
import type { OpenCloud } from './cloud.ts';
import { errorOf, resultOrUnknown } from './responses.ts';

/** The maximum number of items in one filter, so that the URL stays short. */
const BATCH = 100;

type Owned = boolean | UnknownOrHidden;
/** Returns one result for each of the items, which are all different. Errors of the platform become `unknown`. */
type LoadOwned = (userId: number, items: readonly GameItem[]) => Promise<Owned[]>;

/**
 * The maximum age of a cached ownership in milliseconds. Callers get no cached results, so that a pass that was just
 * bought counts. Jobs accept old results, so that a resumed job does not repeat its queries.
 */
const MAX_AGE_MS: Record<Purpose, number> = { caller: 0, background: 60_000, job: 600_000 };
const MAX_CACHED = 50_000;

/** Finds out which items users of the game platform own. */
export class Ownership {
  readonly #load: LoadOwned;
  readonly #clock: Clock;
  readonly #loading = new Map<string, Promise<Map<string, Owned>>>();
  /** The cached ownership of items, by user and item. */
  readonly #cached = new LRUCache<string, { owned: Owned; loadedAt: number }>(maxEntries(MAX_CACHED));

  constructor(load: LoadOwned, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
  }

  /** Results that are at most `maxAgeMs` old are not loaded again, whatever the purpose. */
  async of(
    userId: number,
    items: readonly GameItem[],
    { maxAgeMs = 0 }: { maxAgeMs?: number | undefined } = {},
  ): Promise<Owned[]> {
    const purpose = currentPurpose();
    const known = this.#cachedOf(userId, items, Math.max(maxAgeMs, MAX_AGE_MS[purpose]));
    const missing = new Map(items.map((item) => [itemKey(item), item]));
    for (const key of known.keys()) missing.delete(key);
    if (missing.size > 0) {
      // The purpose is part of the load key, so that a request never waits for a job's call, which has a lower
      // priority.
      const loadKey = `${purpose} ${userId}: ${[...missing.keys()].sort().join()}`;
      const loading = this.#loading.get(loadKey) ?? this.#startLoad(loadKey, userId, missing);
      for (const [key, owned] of await loading) known.set(key, owned);
    }
    return items.map((item) => known.get(itemKey(item)) ?? 'unknown');
  }

  #cachedOf(userId: number, items: readonly GameItem[], maxAgeMs: number): Map<string, Owned> {
    const now = this.#clock.now();
    const known = new Map<string, Owned>();
    for (const item of items) {
      const cached = this.#cached.get(`${userId} ${itemKey(item)}`);
      if (cached && now - cached.loadedAt < maxAgeMs) known.set(itemKey(item), cached.owned);
    }
    return known;
  }

  #cache(userId: number, results: ReadonlyMap<string, Owned>): void {
    const loadedAt = this.#clock.now();
    for (const [item, owned] of results) {
      const key = `${userId} ${item}`;
      if (owned === 'unknown') this.#cached.delete(key);
      else this.#cached.set(key, { owned, loadedAt });
    }
  }

  #startLoad(loadKey: string, userId: number, items: ReadonlyMap<string, GameItem>): Promise<Map<string, Owned>> {
    const loading = this.#load(userId, [...items.values()])
      .then((owned) => {
        const results = new Map([...items.keys()].map((key, index) => [key, owned[index] ?? 'unknown'] as const));
        this.#cache(userId, results);
        return results;
      })
      .finally(() => this.#loading.delete(loadKey));
    this.#loading.set(loadKey, loading);
    return loading;
  }
}

const itemKey = ({ kind, id }: GameItem): string => `${kind} ${id}`;

/**
 * Queries ownership in Open Cloud, with one call for all items of a user. Open Cloud rejects a query for a private
 * inventory, whose items are then `hidden`.
 */
export const ownedByCloud =
  (cloud: OpenCloud): LoadOwned =>
  async (userId, items) => {
    const load = async (batch: readonly GameItem[]): Promise<Owned[]> => {
      const owned = await resultOrUnknown(cloud.owned(userId, batch));
      if (owned === 'unknown' || owned === 'hidden') return batch.map(() => owned);
      const keys = new Set(owned.map(itemKey));
      return batch.map((item) => keys.has(itemKey(item)));
    };
    return (await Promise.all(inBatches(items, BATCH).map(load))).flat();
  };

const canViewSchema = z.object({ canView: z.boolean() });
/**
 * For each kind of item, its name on the inventory host, and the host's error code for an item that does not exist,
 * which nobody can own.
 */
const KINDS: Record<ItemKind, { type: string; absent: number }> = {
  asset: { type: 'Asset', absent: 7 },
  gamepass: { type: 'GamePass', absent: 5 },
  badge: { type: 'Badge', absent: 10 },
};

/**
 * Queries ownership on the inventory host, with one call per item. The host reports every item of a private inventory
 * as not owned, so the first call checks whether the inventory is private.
 */
export const ownedByItem = (host: PlatformHost): LoadOwned => {
  const canView = async (userId: number): Promise<boolean> => {
    const response = await host.get(`/v1/users/${userId}/can-view-inventory`);
    return host.expect(response, canViewSchema).canView;
  };
  const isOwned = async (userId: number, { kind, id }: GameItem): Promise<boolean> => {
    const { type, absent } = KINDS[kind];
    const response = await host.get(`/v1/users/${userId}/items/${type}/${id}/is-owned`);
    if (response.status === 400 && errorOf(response)?.code === absent) return false;
    return host.expect(response, z.boolean());
  };
  return async (userId, items) => {
    const isPublic = await resultOrUnknown(canView(userId));
    if (isPublic !== true) return items.map(() => (isPublic === false ? 'hidden' : isPublic));
    return Promise.all(items.map((item) => resultOrUnknown(isOwned(userId, item))));
  };
};
