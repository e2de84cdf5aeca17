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
}

/** Grants by the hash of the secret; the least recently used goes first. */
export class GrantCache {
  readonly #entries = new Map<string, CachedGrant>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** What is known of the key, which counts as a use of the entry. */
  use(id: string): CachedGrant | undefined {
    const entry = this.#entries.get(id);
    if (!entry) return undefined;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry;
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
    this.#entries.set(id, { grant, readAt, spread, changedTo: 0 });
    if (this.#entries.size > this.#max) this.#dropOldest();
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

  #dropOldest(): void {
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
