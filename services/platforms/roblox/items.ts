import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { LoadingCache } from '#kit/resilience/cache.ts';
import type { GameItem, ItemKind } from '../game.ts';
import type { PlatformHost, PlatformResponse } from '../http/host.ts';
import type { RobloxHosts } from './hosts.ts';
import { errorOf, nameSchema } from './responses.ts';

const TTL_MS = 3600_000;
const MAX_CACHED_NAMES = 10_000;

const productSchema = z
  .object({ TargetId: z.int(), Name: nameSchema })
  .transform(({ TargetId, Name }) => ({ id: TargetId, name: Name }));
const badgeSchema = z.object({ id: z.int(), name: nameSchema });

/** The endpoint of the game platform that returns the names of items of one kind. */
interface Source {
  host: PlatformHost;
  limit?: string;
  path: (id: number) => string;
  shape: z.ZodType<{ id: number; name: string }>;
  /** True if the response means that the item does not exist. */
  isAbsent: (response: PlatformResponse) => boolean;
}

/** Reads the names of items from the game platform, with a cache. */
export class Items {
  readonly #sources: Record<ItemKind, Source>;
  readonly #names: LoadingCache<string | null>;

  constructor(hosts: RobloxHosts, clock: Clock) {
    this.#sources = sources(hosts);
    this.#names = new LoadingCache<string | null>({
      ttlMs: TTL_MS,
      max: MAX_CACHED_NAMES,
      clock,
      load: (key) => this.#load(key),
      // An item that does not exist is not cached, because it may be created in the next minute.
      isCacheable: (name) => name !== null,
    });
  }

  name({ kind, id }: GameItem): Promise<string | null> {
    return this.#names.get(`${kind}/${id}`);
  }

  async #load(key: string): Promise<string | null> {
    const [kind, number] = key.split('/') as [ItemKind, string];
    const { host, limit, path, shape, isAbsent } = this.#sources[kind];
    const response = await host.get(path(Number(number)), { limit });
    if (isAbsent(response)) return null;
    const { id, name } = host.expect(response, shape);
    if (id !== Number(number)) throw host.unexpectedResponse(response, 'another item');
    return name;
  }
}

const sources = (hosts: RobloxHosts): Record<ItemKind, Source> => ({
  gamepass: {
    host: hosts.apis,
    limit: 'game-passes',
    path: (id) => `/game-passes/v1/game-passes/${id}/product-info`,
    shape: productSchema,
    isAbsent: isAbsentGamepass,
  },
  asset: {
    host: hosts.economy,
    path: (id) => `/v2/assets/${id}/details`,
    shape: productSchema,
    // The economy host reports an asset that does not exist with code 20, "Invalid asset ID".
    isAbsent: (response) => response.status === 400 && errorOf(response)?.code === 20,
  },
  badge: {
    host: hosts.badges,
    path: (id) => `/v1/badges/${id}`,
    shape: badgeSchema,
    // The badges host reports a badge that does not exist with code 1 or 3, "Badge is invalid or does not exist."
    isAbsent: (response) => response.status === 404 && [1, 3].includes(errorOf(response)?.code ?? 0),
  },
});

/**
 * True if a game pass does not exist. Error code 0 means a missing game pass as well as a missing route of the host;
 * only the text of the error distinguishes them.
 */
function isAbsentGamepass(response: PlatformResponse): boolean {
  return [400, 404].includes(response.status) && /game ?pass/i.test(errorOf(response)?.message ?? '');
}
