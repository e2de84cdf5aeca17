import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { LoadingCache } from '#kit/resilience/cache.ts';
import type { GameItem, ItemKind } from '../game.ts';
import type { PlatformAnswer, PlatformHost } from '../http/host.ts';
import type { RobloxHosts } from './hosts.ts';
import { givenName, refusal } from './responses.ts';

const KEPT_MS = 3600_000;
const MOST_NAMES = 10_000;

const productAnswer = z
  .object({ TargetId: z.int(), Name: givenName })
  .transform(({ TargetId, Name }) => ({ id: TargetId, name: Name }));
const badgeAnswer = z.object({ id: z.int(), name: givenName });

/** Where items of a kind are looked up, and how their absence is told. */
interface Source {
  host: PlatformHost;
  limit?: string;
  path: (id: number) => string;
  shape: z.ZodType<{ id: number; name: string }>;
  isAbsent: (answer: PlatformAnswer) => boolean;
}

/** Names of items. */
export class Items {
  readonly #sources: Record<ItemKind, Source>;
  readonly #names: LoadingCache<string | null>;

  constructor(hosts: RobloxHosts, clock: Clock) {
    this.#sources = sources(hosts);
    this.#names = new LoadingCache<string | null>({
      ttlMs: KEPT_MS,
      max: MOST_NAMES,
      clock,
      load: (key) => this.#load(key),
      // What does not exist may be made in the next minute.
      remember: (name) => name !== null,
    });
  }

  name({ kind, id }: GameItem): Promise<string | null> {
    return this.#names.get(`${kind}/${id}`);
  }

  async #load(key: string): Promise<string | null> {
    const [kind, number] = key.split('/') as [ItemKind, string];
    const { host, limit, path, shape, isAbsent } = this.#sources[kind];
    const answer = await host.get(path(Number(number)), { limit });
    if (isAbsent(answer)) return null;
    const { id, name } = host.expect(answer, shape);
    if (id !== Number(number)) throw host.misunderstood(answer, 'another item');
    return name;
  }
}

const sources = (hosts: RobloxHosts): Record<ItemKind, Source> => ({
  gamepass: {
    host: hosts.apis,
    limit: 'game-passes',
    path: (id) => `/game-passes/v1/game-passes/${id}/product-info`,
    shape: productAnswer,
    isAbsent: isAbsentGamepass,
  },
  asset: {
    host: hosts.economy,
    path: (id) => `/v2/assets/${id}/details`,
    shape: productAnswer,
    // "Invalid asset ID"
    isAbsent: (answer) => answer.status === 400 && refusal(answer)?.code === 20,
  },
  badge: {
    host: hosts.badges,
    path: (id) => `/v1/badges/${id}`,
    shape: badgeAnswer,
    // "Badge is invalid or does not exist."
    isAbsent: (answer) => answer.status === 404 && [1, 3].includes(refusal(answer)?.code ?? 0),
  },
});

/** "The game pass does not exist." has code 0, as the gateway's "NotFound" has: only the text tells them apart. */
function isAbsentGamepass(answer: PlatformAnswer): boolean {
  return [400, 404].includes(answer.status) && /game ?pass/i.test(refusal(answer)?.message ?? '');
}
