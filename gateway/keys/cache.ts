import { LRUCache } from 'lru-cache';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';

/** The grant (guild, scopes, limits) of one secret of an API key, as read from the auth service. */
interface VerifiedGrant {
  readonly grant: KeyGrant;
  /**
   * When the API key lookup was sent to the auth service, in Unix milliseconds. The grant is at least as new as this
   * time.
   */
  readonly readAt: number;
  /**
   * A random factor from 0.8 to 1.2. The time for which the cached grant may be used is multiplied by it, so that
   * cached API keys do not all expire at the same time.
   */
  readonly jitter: number;
}

/** A cached grant: what an API key gives access to, with which scopes and limits. */
export interface CachedGrant extends VerifiedGrant {
  /** The version of the newest received change of this API key, if it is newer than `grant`; otherwise 0. */
  readonly changedVersion: number;
  /** True if a request has used the cached grant since it was read from the auth service. */
  isUsed: boolean;
}

/** The maximum number of different scope lists that are stored once and shared by cached grants. */
const MAX_SHARED = 1_000;

/** Caches the grants of API keys by the hash of the secret. The least recently used grant is evicted first. */
export class GrantCache {
  readonly #entries: LRUCache<string, CachedGrant>;
  /**
   * One list for each set of scopes, shared by all cached grants with this set. Most API keys have one of a few sets,
   * so this saves memory. The key is the set as text.
   */
  readonly #scopes = new Map<string, string[]>();

  constructor(max: number) {
    this.#entries = new LRUCache(maxEntries(max));
  }

  get size(): number {
    return this.#entries.size;
  }

  get(id: string): CachedGrant | undefined {
    return this.#entries.get(id);
  }

  /** Caches a grant, unless the cache has a newer version or a newer change of the API key was received. */
  set(id: string, { grant, readAt, jitter }: VerifiedGrant): void {
    const known = this.#entries.peek(id);
    if (known && Math.max(known.grant.version, known.changedVersion) > grant.version) return;
    this.#entries.set(id, { grant: this.#withSharedScopes(grant), readAt, jitter, changedVersion: 0, isUsed: false });
  }

  /**
   * Records that the API key has changed. Its cache entry stays, but must not be used until the auth service has
   * verified the key again.
   */
  markChanged(id: string, version: number): void {
    const entry = this.#entries.peek(id);
    if (!entry || version <= Math.max(entry.grant.version, entry.changedVersion)) return;
    this.#entries.set(id, { ...entry, changedVersion: version });
  }

  delete(id: string): void {
    this.#entries.delete(id);
  }

  #withSharedScopes(grant: KeyGrant): KeyGrant {
    const text = grant.scopes.join();
    const scopes = this.#scopes.get(text) ?? grant.scopes;
    if (this.#scopes.size < MAX_SHARED) this.#scopes.set(text, scopes);
    return { ...grant, scopes };
  }
}
