import type { Clock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { ApiKey } from '#kit/security/api-key.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { AuthServiceService, KeyChange, KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { type CachedGrant, GrantCache } from './cache.ts';
import { type ChangeProof, isWithin } from './proof.ts';
import { Refusals } from './refusals.ts';
import { Calendar } from './renewal-schedule.ts';
import { type Answer, type Priority, unavailable, Verifier } from './verifier.ts';

/** How long a key is fresh while every change would be heard. */
const PROVEN_MS = 60_000;
/** How long it is fresh otherwise: with its spread, and the look-up itself, within the 5 s that the contract promises. */
const UNPROVEN_MS = 4_000;
const SPREAD = 0.2;
/** From this share of its fresh time on a key that is used is verified again, so that no caller has to wait for it. */
const RENEWED_FROM = 0.75;
/** How many are verified again at a time: half of what auth may be asked at once, so that callers need not wait. */
const RENEWED_AT_ONCE = 32;
const KNOWN_MS = 24 * 3_600_000;
/** How often a key that changes while auth is being asked is asked for again. */
const ATTEMPTS = 3;
const PROBE_EVERY_MS = 1_000;

export interface KeysOptions {
  client: GrpcClient<AuthServiceService>;
  clock: Clock;
  /** From 0 up to 1. */
  random: () => number;
  metrics: Metrics;
  /** Fed by the stream of changes. */
  proof: ChangeProof;
  /** How long known keys are served while auth can not be reached; 0 = not at all. */
  staleSeconds: number;
  /** The most keys that are remembered. */
  max: number;
}

/** Knows keys by their hashes: from memory where that is certain enough, else by asking auth. */
export class Keys {
  readonly #options: KeysOptions;
  readonly #cache: GrantCache;
  readonly #refusals = new Refusals();
  readonly #calendar: Calendar;
  /** The hashes of keys whose time to be verified again has come. */
  readonly #due = new Set<string>();
  #isRenewing = false;
  readonly #verifier: Verifier;
  readonly #outcomes;
  readonly #renewals;
  #probedAt = Number.NEGATIVE_INFINITY;

  constructor(options: KeysOptions) {
    this.#options = options;
    this.#cache = new GrantCache(options.max);
    this.#calendar = new Calendar(options.max);
    const { client, clock } = options;
    this.#verifier = new Verifier({ client, clock, answered: (id, answer) => this.#remember(id, answer) });
    const help = 'Look-ups of keys: answered from memory, by auth, stale for want of auth, or not at all';
    this.#outcomes = options.metrics.counter('gateway_key_cache_total', help, ['outcome']);
    this.#renewals = options.metrics.counter('gateway_key_renewals_total', 'Keys in use verified again in time');
  }

  /** The key's grant where memory alone can tell; undefined means that `find` must. */
  peek(key: ApiKey): KeyGrant | undefined {
    const entry = this.#cache.get(key.hashText);
    if (!entry) return undefined;
    const now = this.#options.clock.now();
    const isProven = this.#options.proof.covers(entry.readAt, now);
    if (isFresh(entry, isProven, now) && !this.#hasLapsed(entry.grant)) {
      this.#outcomes.inc({ outcome: 'hit' });
      if (!entry.isUsed) this.#use(key.hashText, entry, now);
      return entry.grant;
    }
    // Nobody waits in vain for an auth that has just failed to answer.
    if (!this.#verifier.isFailing || !this.#mayBeStale(entry, now)) return undefined;
    this.#outcomes.inc({ outcome: 'stale' });
    this.#probe(now);
    return entry.grant;
  }

  /** Once for each time that it is read; later than its calendar has it, it is due now. */
  #use(id: string, entry: CachedGrant, now: number): void {
    entry.isUsed = true;
    if (isDue(entry, now) && this.#due.size < this.#options.max) this.#due.add(id);
  }

  /**
   * The key's grant; undefined when it is unknown, revoked or replaced (INVALID_API_KEY). Whether it has expired is for
   * the caller to judge. UNAVAILABLE when auth can't be reached and what is known must not be used.
   */
  async find(key: ApiKey, priority: Priority = 'normal'): Promise<KeyGrant | undefined> {
    const known = this.peek(key);
    if (known) return known;
    const id = key.hashText;
    if (this.#isRefused(id)) {
      this.#outcomes.inc({ outcome: 'refusal_hit' });
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

  /** Verifies again what was used and will not be fresh for much longer, many at a time; called at each beat. */
  async renew(): Promise<void> {
    for (const id of this.#calendar.take(this.#options.clock.now())) this.#due.add(id);
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    for (let left = this.#due.size; left > 0 && !this.#verifier.isFailing; left -= RENEWED_AT_ONCE) {
      await Promise.all(this.#takeDue().map(([id, entry]) => this.#renew(id, entry)));
    }
    this.#isRenewing = false;
  }

  async #renew(id: string, { grant }: CachedGrant): Promise<void> {
    try {
      await this.#verifier.verify(id, { guildId: grant.guildId, hash: Buffer.from(id, 'latin1') });
      this.#renewals.inc();
    } catch {
      // At a later beat, unless a caller needs it before.
      this.#due.add(id);
    }
  }

  /** Some of what is due and was used: it may have been verified, or forgotten, meanwhile. */
  #takeDue(): [string, CachedGrant][] {
    const taken: [string, CachedGrant][] = [];
    for (const id of this.#due) {
      if (taken.length === RENEWED_AT_ONCE) break;
      this.#due.delete(id);
      const entry = this.#cache.get(id);
      if (entry?.isUsed && isDue(entry, this.#options.clock.now())) taken.push([id, entry]);
    }
    return taken;
  }

  /** Whether this gateway has verified the key within 24 hours, and it was not refused since. */
  isKnown({ hashText }: ApiKey): boolean {
    const entry = this.#cache.get(hashText);
    return entry !== undefined && isWithin(this.#options.clock.now() - entry.readAt, KNOWN_MS);
  }

  /** Whether `find` would send a query of its own to auth for a key that this gateway does not know. */
  needsLookup({ hashText }: ApiKey): boolean {
    return !this.#isRefused(hashText) && !this.#verifier.isVerifying(hashText);
  }

  /** A key has changed: whatever is remembered of it or being asked about it must not be relied on. */
  changed({ hashes, version }: KeyChange): void {
    for (const hash of hashes) {
      const id = hash.toString('latin1');
      this.#cache.markChanged(id, version);
      this.#verifier.markChanged(id, version);
      this.#refusals.drop(id);
    }
  }

  /** The stream of changes was cut: finds out whether auth is gone before requests have to. */
  cut(): void {
    this.#options.proof.cut();
    this.#probe(this.#options.clock.now());
  }

  /** Asks auth, again where the key changed meanwhile. */
  async #verify(id: string, key: ApiKey, priority: Priority): Promise<KeyGrant | undefined> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { grant, changedTo } = await this.#verifier.verify(id, key, priority);
      const newest = Math.max(changedTo, this.#cache.get(id)?.changedTo ?? 0);
      if (!grant || grant.version >= newest) return grant && !this.#hasLapsed(grant) ? grant : undefined;
    }
    throw unavailable('the key changed whenever auth was asked about it');
  }

  #remember(id: string, { grant, askedAt, changedTo }: Answer): void {
    if (grant && !this.#hasLapsed(grant)) {
      const spread = 1 + SPREAD * (2 * this.#options.random() - 1);
      if (grant.version < changedTo) return;
      this.#cache.keep(id, grant, askedAt, spread);
      // Without a stream keys are asked about every few seconds, and no beat takes the notes.
      if (this.#options.proof.isAlive(this.#options.clock.now()))
        this.#calendar.add(id, askedAt + PROVEN_MS * spread * RENEWED_FROM);
      return;
    }
    this.#cache.drop(id);
    // One that changed meanwhile may be good by now.
    if (changedTo === 0) this.#refusals.add(id, this.#options.clock.now());
  }

  /** Whether memory alone shows that the key is invalid. */
  #isRefused(id: string): boolean {
    const entry = this.#cache.get(id);
    if (entry && entry.changedTo === 0 && this.#hasLapsed(entry.grant)) {
      this.#cache.drop(id);
      this.#refusals.add(id, this.#options.clock.now());
    }
    return this.#refusals.has(id, this.#options.clock.now());
  }

  /** Whether a key may be served although auth does not answer. */
  #mayBeStale(entry: CachedGrant, now: number): boolean {
    const { proof, staleSeconds } = this.#options;
    if (entry.changedTo > 0 || this.#hasLapsed(entry.grant)) return false;
    // While the stream is alive auth can be reached: then only what the stream vouches for.
    if (proof.isAlive(now) && !proof.covers(entry.readAt, now)) return false;
    return isWithin(now - proof.confirmedAt(entry.readAt), staleSeconds * 1000);
  }

  /** Whether the secret was replaced and its grace period is over. */
  #hasLapsed({ validUntil }: KeyGrant): boolean {
    return validUntil !== 0 && this.#options.clock.now() >= validUntil * 1000;
  }

  #probe(now: number): void {
    if (isWithin(now - this.#probedAt, PROBE_EVERY_MS)) return;
    this.#probedAt = now;
    void this.#verifier.probe();
  }
}

function isFresh({ changedTo, readAt, spread }: CachedGrant, isProven: boolean, now: number): boolean {
  return changedTo === 0 && isWithin(now - readAt, (isProven ? PROVEN_MS : UNPROVEN_MS) * spread);
}

/** Whether a key whose changes are heard is to be verified again in time. */
function isDue({ readAt, spread }: CachedGrant, now: number): boolean {
  return !isWithin(now - readAt, PROVEN_MS * spread * RENEWED_FROM);
}
