import type { Clock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { ApiKey } from '#kit/security/api-key.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { AuthServiceService, KeyChange, KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { type CachedGrant, GrantCache } from './cache.ts';
import { type ChangeProof, isWithin } from './proof.ts';
import { Rejections } from './rejections.ts';
import { RenewalSchedule } from './renewal-schedule.ts';
import { type LookupResult, type Priority, unavailable, Verifier } from './verifier.ts';

/** How long a cached API key is used while the stream of key changes proves that no change was missed. */
const FRESH_MS_WITH_PROOF = 60_000;
/**
 * How long a cached API key is used without that stream of key changes. With jitter and the duration of the lookup the
 * total stays within the 5 s of the contract.
 */
const FRESH_MS_WITHOUT_PROOF = 4_000;
const JITTER = 0.2;
/**
 * An API key in use is verified again after this share of its fresh time, so that no request has to wait for the
 * lookup.
 */
const RENEWAL_SHARE = 0.75;
/**
 * The maximum number of concurrent renewals: half of the lookups that may be in flight, so that unknown API keys need
 * not wait.
 */
const MAX_RENEWALS = 32;
/** How long an API key counts as known to this gateway after its verification, in milliseconds. */
const KNOWN_MS = 24 * 3_600_000;
/** The maximum number of lookups for one request, if the API key changes during each of them. */
const MAX_ATTEMPTS = 3;
const PROBE_INTERVAL_MS = 1_000;
/** The outcomes of the lookup of an API key in metrics. */
const OUTCOMES = ['hit', 'rejection_hit', 'miss', 'stale', 'unavailable'];

export interface KeysOptions {
  client: GrpcClient<AuthServiceService>;
  clock: Clock;
  /** Returns a random number from 0 up to, but not including, 1. */
  random: () => number;
  metrics: Metrics;
  /** Proves which cached API keys are still current; the stream of key changes updates it. */
  proof: ChangeProof;
  /** How many seconds cached API keys are accepted while the auth service is not reachable; 0 = not at all. */
  staleSeconds: number;
  /** The maximum number of cached API keys. */
  max: number;
}

/**
 * Finds the grants of API keys: in the cache if the cached grant is certainly current, otherwise in the auth service.
 */
export class Keys {
  readonly #options: KeysOptions;
  readonly #cache: GrantCache;
  readonly #rejections = new Rejections();
  readonly #schedule: RenewalSchedule;
  /** The hashes of the API keys that are due to be verified again. */
  readonly #due = new Set<string>();
  #isRenewing = false;
  readonly #verifier: Verifier;
  readonly #outcomes;
  readonly #renewals;
  #probedAt = Number.NEGATIVE_INFINITY;

  constructor(options: KeysOptions) {
    this.#options = options;
    this.#cache = new GrantCache(options.max);
    this.#schedule = new RenewalSchedule(options.max);
    const { client, clock } = options;
    this.#verifier = new Verifier({ client, clock, onResult: (id, result) => this.#store(id, result) });
    const help =
      'API key lookups: from the cache (hit, rejection_hit), from auth (miss), cached because auth failed (stale), or failed (unavailable)';
    this.#outcomes = options.metrics.counterOf('gateway_key_cache_total', help, 'outcome', OUTCOMES);
    this.#renewals = options.metrics.counter(
      'gateway_key_renewals_total',
      'API keys in use that were verified again before their cache entry expired',
    );
  }

  /** Returns the API key's grant if the cache alone is sufficient. Undefined means that `find` must be called. */
  peek(key: ApiKey): KeyGrant | undefined {
    const entry = this.#cache.get(key.hashText);
    if (!entry) return undefined;
    const now = this.#options.clock.now();
    const hasProof = this.#options.proof.covers(entry.readAt, now);
    if (isFresh(entry, hasProof, now) && !this.#hasLapsed(entry.grant)) {
      this.#outcomes.inc({ outcome: 'hit' });
      if (!entry.isUsed) this.#markUsed(key.hashText, entry, now);
      return entry.grant;
    }
    // While the auth service is failing, a cached API key may be used without waiting for auth.
    if (!this.#verifier.isFailing || !this.#mayBeStale(entry, now)) return undefined;
    this.#outcomes.inc({ outcome: 'stale' });
    this.#probe(now);
    return entry.grant;
  }

  /** Returns the API key's grant if the cache alone proves that it is current. No request uses it. */
  current(key: ApiKey): KeyGrant | undefined {
    const entry = this.#cache.get(key.hashText);
    const now = this.#options.clock.now();
    if (!entry || !isFresh(entry, this.#options.proof.covers(entry.readAt, now), now)) return undefined;
    return this.#hasLapsed(entry.grant) ? undefined : entry.grant;
  }

  /**
   * Called when an API key is first used after a verification. If its renewal was scheduled for a time that has passed,
   * it is renewed now.
   */
  #markUsed(id: string, entry: CachedGrant, now: number): void {
    entry.isUsed = true;
    if (isDue(entry, now) && this.#due.size < this.#options.max) this.#due.add(id);
  }

  /**
   * Returns the API key's grant; undefined if the key is unknown, revoked or replaced (INVALID_API_KEY). The caller
   * must check whether the key has expired. Throws UNAVAILABLE if the auth service is not reachable and no cached grant
   * may be used.
   */
  async find(key: ApiKey, priority: Priority = 'normal'): Promise<KeyGrant | undefined> {
    const known = this.peek(key);
    if (known) return known;
    const id = key.hashText;
    if (this.#isInvalid(id)) {
      this.#outcomes.inc({ outcome: 'rejection_hit' });
      return undefined;
    }
    try {
      const grant = await this.#verify(id, key, priority);
      this.#outcomes.inc({ outcome: 'miss' });
      return grant;
    } catch (error) {
      const entry = this.#cache.get(id);
      const isServed = entry && this.#mayBeStale(entry, this.#options.clock.now());
      this.#outcomes.inc({ outcome: isServed ? 'stale' : 'unavailable' });
      if (!isServed) throw error;
      return entry.grant;
    }
  }

  /** Verifies API keys in use again before they expire. Called at each heartbeat of the stream of key changes. */
  async renewDueKeys(): Promise<void> {
    for (const id of this.#schedule.take(this.#options.clock.now())) this.#due.add(id);
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    for (let remaining = this.#due.size; remaining > 0 && !this.#verifier.isFailing; remaining -= MAX_RENEWALS) {
      await Promise.all(this.#takeDue().map(([id, entry]) => this.#renew(id, entry)));
    }
    this.#isRenewing = false;
  }

  async #renew(id: string, { grant }: CachedGrant): Promise<void> {
    try {
      await this.#verifier.verify(id, { guildId: grant.guildId, hash: Buffer.from(id, 'latin1') });
      this.#renewals.inc();
    } catch {
      // The renewal of the API key failed and is retried at a later heartbeat.
      this.#due.add(id);
    }
  }

  /** Takes some due API keys. Skips keys that were not used, or that were verified or evicted since they became due. */
  #takeDue(): [string, CachedGrant][] {
    const taken: [string, CachedGrant][] = [];
    for (const id of this.#due) {
      if (taken.length === MAX_RENEWALS) break;
      this.#due.delete(id);
      const entry = this.#cache.get(id);
      if (entry?.isUsed && isDue(entry, this.#options.clock.now())) taken.push([id, entry]);
    }
    return taken;
  }

  /**
   * True if this gateway has verified the API key within the last 24 hours, and the auth service has not rejected the
   * key since.
   */
  isKnown({ hashText }: ApiKey): boolean {
    const entry = this.#cache.get(hashText);
    return entry !== undefined && isWithin(this.#options.clock.now() - entry.readAt, KNOWN_MS);
  }

  /** True if `find` would start a new lookup in the auth service for an API key that is not cached. */
  needsLookup({ hashText }: ApiKey): boolean {
    return !this.#isInvalid(hashText) && !this.#verifier.isVerifying(hashText);
  }

  /**
   * Called when an API key has changed. Its cached grants and the results of pending lookups must not be used any more.
   */
  handleChange({ hashes, version }: KeyChange): void {
    for (const hash of hashes) {
      const id = hash.toString('latin1');
      this.#cache.markChanged(id, version);
      this.#verifier.markChanged(id, version);
      this.#rejections.delete(id);
    }
  }

  /**
   * Called when the stream of key changes has ended. Probes the auth service now, so that no request has to wait to
   * find out.
   */
  handleDisconnect(): void {
    this.#options.proof.disconnect();
    this.#probe(this.#options.clock.now());
  }

  /** Looks up the API key in the auth service, again if the key changes during the lookup. */
  async #verify(id: string, key: ApiKey, priority: Priority): Promise<KeyGrant | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { grant, changedVersion } = await this.#verifier.verify(id, key, priority);
      const newest = Math.max(changedVersion, this.#cache.get(id)?.changedVersion ?? 0);
      if (!grant || grant.version >= newest) return grant && !this.#hasLapsed(grant) ? grant : undefined;
    }
    throw unavailable('the key changed during each lookup');
  }

  #store(id: string, { grant, requestedAt, changedVersion }: LookupResult): void {
    if (grant && !this.#hasLapsed(grant)) {
      const jitter = 1 + JITTER * (2 * this.#options.random() - 1);
      if (grant.version < changedVersion) return;
      this.#cache.set(id, { grant, readAt: requestedAt, jitter });
      // Renewals are scheduled only while the stream of key changes is alive: without it no heartbeat triggers them.
      if (this.#options.proof.isAlive(this.#options.clock.now()))
        this.#schedule.add(id, requestedAt + FRESH_MS_WITH_PROOF * jitter * RENEWAL_SHARE);
      return;
    }
    this.#cache.delete(id);
    // The rejection of an API key that changed during the lookup is not cached, because the key may be valid by now.
    if (changedVersion === 0) this.#rejections.add(id, this.#options.clock.now());
  }

  /** True if the cache alone shows that the API key is invalid. */
  #isInvalid(id: string): boolean {
    const entry = this.#cache.get(id);
    if (entry && entry.changedVersion === 0 && this.#hasLapsed(entry.grant)) {
      this.#cache.delete(id);
      this.#rejections.add(id, this.#options.clock.now());
    }
    return this.#rejections.has(id, this.#options.clock.now());
  }

  /** True if a cached API key may be used although the auth service does not respond. */
  #mayBeStale(entry: CachedGrant, now: number): boolean {
    const { proof, staleSeconds } = this.#options;
    if (entry.changedVersion > 0 || this.#hasLapsed(entry.grant)) return false;
    // While the stream of key changes is alive, the auth service is reachable, and only keys whose changes the stream
    // would have reported may be used.
    if (proof.isAlive(now) && !proof.covers(entry.readAt, now)) return false;
    return isWithin(now - proof.confirmedAt(entry.readAt), staleSeconds * 1000);
  }

  /** True if the secret of the API key was replaced and its grace period is over. */
  #hasLapsed({ validUntil }: KeyGrant): boolean {
    return validUntil !== 0 && this.#options.clock.now() >= validUntil * 1000;
  }

  #probe(now: number): void {
    if (isWithin(now - this.#probedAt, PROBE_INTERVAL_MS)) return;
    this.#probedAt = now;
    void this.#verifier.probe();
  }
}

function isFresh({ changedVersion, readAt, jitter }: CachedGrant, hasProof: boolean, now: number): boolean {
  return (
    changedVersion === 0 && isWithin(now - readAt, (hasProof ? FRESH_MS_WITH_PROOF : FRESH_MS_WITHOUT_PROOF) * jitter)
  );
}

/** True if it is time to renew a cached API key that the stream of key changes covers. */
function isDue({ readAt, jitter }: CachedGrant, now: number): boolean {
  return !isWithin(now - readAt, FRESH_MS_WITH_PROOF * jitter * RENEWAL_SHARE);
}
