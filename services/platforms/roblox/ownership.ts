import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { currentPurpose, type Purpose } from '#kit/context.ts';
import { dropOldest } from '#kit/resilience/bounded.ts';
import { inBatches } from '../batch-cache.ts';
import type { GameItem, ItemKind, Untold } from '../game.ts';
import type { PlatformHost } from '../http/host.ts';
import type { OpenCloud } from './cloud.ts';
import { orUnknown, refusal } from './responses.ts';

/** The most items of one filter, so that its address stays short. */
const BATCH = 100;

type Owned = boolean | Untold;
/** For each of the items, which are all different. Never rejects because of the platform. */
type AskOwned = (userId: number, items: readonly GameItem[]) => Promise<Owned[]>;

/**
 * How old what is cached may be. While somebody waits, nothing is read from the cache, so that a pass that was bought a
 * moment ago counts; a job that is interrupted does not query again what it has learned.
 */
const MAX_AGE_MS: Record<Purpose, number> = { caller: 0, background: 60_000, job: 600_000 };
const MAX_CACHED = 50_000;

/** Which items users own. */
export class Ownership {
  readonly #ask: AskOwned;
  readonly #clock: Clock;
  readonly #asking = new Map<string, Promise<Map<string, Owned>>>();
  /** By user and item. */
  readonly #cached = new Map<string, { owned: Owned; at: number }>();

  constructor(ask: AskOwned, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  async of(userId: number, items: readonly GameItem[]): Promise<Owned[]> {
    const purpose = currentPurpose();
    const known = this.#known(userId, items, MAX_AGE_MS[purpose]);
    const missing = new Map(items.map((item) => [nameOf(item), item]));
    for (const name of known.keys()) missing.delete(name);
    if (missing.size > 0) {
      // A request does not wait for the turn of a job that asks for the same.
      const key = `${purpose} ${userId}: ${[...missing.keys()].sort().join()}`;
      const asking = this.#asking.get(key) ?? this.#start(key, userId, missing);
      for (const [name, owned] of await asking) known.set(name, owned);
    }
    return items.map((item) => known.get(nameOf(item)) ?? 'unknown');
  }

  #known(userId: number, items: readonly GameItem[], maxAgeMs: number): Map<string, Owned> {
    const now = this.#clock.now();
    const known = new Map<string, Owned>();
    for (const item of items) {
      const cached = this.#cached.get(`${userId} ${nameOf(item)}`);
      if (cached && now - cached.at < maxAgeMs) known.set(nameOf(item), cached.owned);
    }
    return known;
  }

  #remember(userId: number, all: ReadonlyMap<string, Owned>): void {
    const at = this.#clock.now();
    for (const [name, owned] of all) {
      const key = `${userId} ${name}`;
      this.#cached.delete(key);
      if (owned !== 'unknown') this.#cached.set(key, { owned, at });
    }
    dropOldest(this.#cached, MAX_CACHED);
  }

  #start(key: string, userId: number, items: ReadonlyMap<string, GameItem>): Promise<Map<string, Owned>> {
    const asking = this.#ask(userId, [...items.values()])
      .then((owned) => {
        const told = new Map([...items.keys()].map((name, index) => [name, owned[index] ?? 'unknown'] as const));
        this.#remember(userId, told);
        return told;
      })
      .finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }
}

const nameOf = ({ kind, id }: GameItem): string => `${kind} ${id}`;

/** By Open Cloud: one call for all of a user's items. A private inventory is refused, and so hidden. */
export const ownedByCloud =
  (cloud: OpenCloud): AskOwned =>
  async (userId, items) => {
    const ask = async (batch: readonly GameItem[]): Promise<Owned[]> => {
      const owned = await orUnknown(cloud.owned(userId, batch));
      if (owned === 'unknown' || owned === 'hidden') return batch.map(() => owned);
      const names = new Set(owned.map(nameOf));
      return batch.map((item) => names.has(nameOf(item)));
    };
    return (await Promise.all(inBatches(items, BATCH).map(ask))).flat();
  };

const canViewAnswer = z.object({ canView: z.boolean() });
/** The host's number of a kind, and how it says that there is no such item, which nobody can own. */
const KINDS: Record<ItemKind, { type: string; absent: number }> = {
  asset: { type: 'Asset', absent: 7 },
  gamepass: { type: 'GamePass', absent: 5 },
  badge: { type: 'Badge', absent: 10 },
};

/** By the inventory host: it says that nothing in a private inventory is owned, so that is asked first. */
export const ownedByItem = (host: PlatformHost): AskOwned => {
  const canView = async (userId: number): Promise<boolean> => {
    const answer = await host.get(`/v1/users/${userId}/can-view-inventory`);
    return host.expect(answer, canViewAnswer).canView;
  };
  const isOwned = async (userId: number, { kind, id }: GameItem): Promise<boolean> => {
    const { type, absent } = KINDS[kind];
    const answer = await host.get(`/v1/users/${userId}/items/${type}/${id}/is-owned`);
    if (answer.status === 400 && refusal(answer)?.code === absent) return false;
    return host.expect(answer, z.boolean());
  };
  return async (userId, items) => {
    const isShown = await orUnknown(canView(userId));
    if (isShown !== true) return items.map(() => (isShown === false ? 'hidden' : isShown));
    return Promise.all(items.map((item) => orUnknown(isOwned(userId, item))));
  };
};
