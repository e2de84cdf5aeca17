import { dropOldest } from '#kit/resilience/bounded.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';

/** What is known of one secret of a key. */
export interface CachedGrant {
  readonly grant: KeyGrant;
  /** When auth was asked, Unix milliseconds: what it answered was read later than that. */
  readonly readAt: number;
  /** Between 0.8 and 1.2: how much longer than others it stays fresh, so that keys do not all expire at once. */
  readonly spread: number;
  /** The version of the newest change heard of that `grant` does not show; 0 = none. */
  readonly changedTo: number;
  /** Whether it was used since it was read. */
  isUsed: boolean;
}

/** The most sets of scopes that are shared. */
const MAX_SHARED = 1_000;

/**
 * Grants by the hash of the secret. The one verified longest ago goes first, which is the least recently used to within
 * the time a key stays fresh: to keep the exact order would cost every request ten times the look-up.
 */
export class GrantCache {
  readonly #entries = new Map<string, CachedGrant>();
  /** Most keys have one of a few sets of scopes: each set is held once, by its text. */
  readonly #scopes = new Map<string, string[]>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** What is known of the key. */
  get(id: string): CachedGrant | undefined {
    return this.#entries.get(id);
  }

  /** Remembers a grant, unless a newer version of it was already seen or heard of. */
  keep(id: string, grant: KeyGrant, readAt: number, spread: number): void {
    const known = this.#entries.get(id);
    if (known && Math.max(known.grant.version, known.changedTo) > grant.version) return;
    this.#entries.delete(id);
    this.#entries.set(id, { grant: this.#sharing(grant), readAt, spread, changedTo: 0, isUsed: false });
    dropOldest(this.#entries, this.#max);
  }

  /** Notes that the key has changed: it stays known, and must be verified again before it is used. */
  markChanged(id: string, version: number): void {
    const entry = this.#entries.get(id);
    if (!entry || version <= Math.max(entry.grant.version, entry.changedTo)) return;
    this.#entries.set(id, { ...entry, changedTo: version });
  }

  drop(id: string): void {
    this.#entries.delete(id);
  }

  #sharing(grant: KeyGrant): KeyGrant {
    const text = grant.scopes.join();
    const scopes = this.#scopes.get(text) ?? grant.scopes;
    if (this.#scopes.size < MAX_SHARED) this.#scopes.set(text, scopes);
    return { ...grant, scopes };
  }
}
