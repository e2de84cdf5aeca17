import { LRUCache } from 'lru-cache';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';

/** The grant of one secret of a key, as read from auth. */
interface VerifiedGrant {
  readonly grant: KeyGrant;
  /** When the lookup was sent to auth, in Unix milliseconds. Auth read the grant after that. */
  readonly readAt: number;
  /** A factor from 0.8 to 1.2 for its fresh time, so that keys do not all expire at the same time. */
  readonly jitter: number;
}

/** A cached grant. */
export interface CachedGrant extends VerifiedGrant {
  /** The version of the newest received change that is newer than `grant`; 0 = none. */
  readonly changedVersion: number;
  /** True if it was used since it was read. */
  isUsed: boolean;
}

/** The maximum number of shared scope lists. */
const MAX_SHARED = 1_000;

/** Grants by the hash of the secret. The least recently used one is evicted first. */
export class GrantCache {
  readonly #entries: LRUCache<string, CachedGrant>;
  /** One list for each set of scopes, keyed by its text. Most keys have one of a few sets, so sharing saves memory. */
  readonly #scopes = new Map<string, string[]>();

  constructor(max: number) {
    this.#entries = new LRUCache({ max });
  }

  get size(): number {
    return this.#entries.size;
  }

  get(id: string): CachedGrant | undefined {
    return this.#entries.get(id);
  }

  /** Stores a grant, unless the cache has a newer version or a newer change was received. */
  set(id: string, { grant, readAt, jitter }: VerifiedGrant): void {
    const known = this.#entries.peek(id);
    if (known && Math.max(known.grant.version, known.changedVersion) > grant.version) return;
    this.#entries.set(id, { grant: this.#withSharedScopes(grant), readAt, jitter, changedVersion: 0, isUsed: false });
  }

  /** Records that the key has changed. Its entry stays, but the key must be verified again before it is used. */
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
