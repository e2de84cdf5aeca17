import { z } from 'zod';
import { inBatches } from '../batch-cache.ts';
import type { GameItem, ItemKind, Untold } from '../game.ts';
import type { PlatformHost } from '../http.ts';
import { orUnknown, refusal } from './answers.ts';
import type { OpenCloud } from './cloud.ts';

/** The most items of one filter, so that its address stays short. */
const BATCH = 100;

type Owned = boolean | Untold;
/** For each of the items, which are all different. Never rejects because of the platform. */
type AskOwned = (userId: number, items: readonly GameItem[]) => Promise<Owned[]>;

/** Which items users own. Nothing is remembered, so that who has just bought a pass is not told otherwise. */
export class Ownership {
  readonly #ask: AskOwned;
  readonly #asking = new Map<string, Promise<Map<string, Owned>>>();

  constructor(ask: AskOwned) {
    this.#ask = ask;
  }

  async of(userId: number, items: readonly GameItem[]): Promise<Owned[]> {
    const different = new Map(items.map((item) => [nameOf(item), item]));
    if (different.size === 0) return [];
    const key = `${userId}: ${[...different.keys()].sort().join()}`;
    const asking = this.#asking.get(key) ?? this.#start(key, userId, different);
    const owned = await asking;
    return items.map((item) => owned.get(nameOf(item)) ?? 'unknown');
  }

  #start(key: string, userId: number, items: ReadonlyMap<string, GameItem>): Promise<Map<string, Owned>> {
    const asking = this.#ask(userId, [...items.values()])
      .then((owned) => new Map([...items.keys()].map((name, index) => [name, owned[index] ?? 'unknown'])))
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
