import type { Clock } from '#kit/clock.ts';
import { ApiError, asApiError, isServerError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { ApiKey } from '#kit/security/api-key.ts';
import type { AuthServiceService, KeyGrant, VerifyResult } from '#proto/gen/guild/auth/v1/auth.ts';
import { isWithin } from './proof.ts';

/** The maximum number of API keys that are being looked up in the auth service, and so the maximum in one message. */
const MAX_IN_FLIGHT = 64;
/** The maximum number of API keys that wait until they can be looked up. */
const MAX_QUEUED = 1_024;
/**
 * The maximum number of low priority lookups in flight and in the queue, so that a flood of invalid API keys does not
 * delay the first requests of other clients.
 */
const MAX_LOW_IN_FLIGHT = 16;
const MAX_LOW_QUEUED = 256;
/** The maximum time that an API key waits in the lookup queue, in milliseconds. */
const MAX_QUEUE_MS = 1_000;
/** How long the auth service counts as failing after its last failure, in milliseconds. */
const FAILURE_TTL_MS = 2_500;
/** A hash that belongs to no API key, to probe whether the auth service responds. */
const NO_KEY = { guildId: '10000000000000000', hash: Buffer.alloc(32) };

/** The result of looking up one API key in the auth service. */
export interface LookupResult {
  /** The grant of the API key; undefined if the key is unknown or no longer valid. */
  grant: KeyGrant | undefined;
  /** When the lookup was sent to the auth service, in Unix milliseconds. */
  requestedAt: number;
  /** The version of the newest change of the API key that was received during the lookup; 0 = none. */
  changedVersion: number;
}

/** The data that the auth service needs to look up an API key. */
type KeyIdentity = Pick<ApiKey, 'guildId' | 'hash'>;

/** The priority of a key lookup. `low` is for clients with many failed authentications. */
export type Priority = 'normal' | 'low';

interface Lookup extends PromiseWithResolvers<LookupResult> {
  id: string;
  key: KeyIdentity;
  priority: Priority;
  queuedAt: number;
  changedVersion: number;
}

const MAX_QUEUED_BY: Record<Priority, number> = { normal: MAX_QUEUED, low: MAX_LOW_QUEUED };

export interface VerifierOptions {
  client: GrpcClient<AuthServiceService>;
  clock: Clock;
  /** Called once per lookup result, before the promises of the lookup are resolved. */
  onResult: (id: string, result: LookupResult) => void;
}

/**
 * Looks up API keys in the auth service. Lookups that start in the same turn of the event loop are sent in one message,
 * each key once.
 */
export class Verifier {
  readonly #options: VerifierOptions;
  readonly #pending = new Map<string, Lookup>();
  readonly #queues: Record<Priority, Lookup[]> = { normal: [], low: [] };
  /** The number of API keys that are being looked up in the auth service, by priority. */
  readonly #inFlight: Record<Priority, number> = { normal: 0, low: 0 };
  #scheduled = false;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: VerifierOptions) {
    this.#options = options;
  }

  /** True if the last message to the auth service failed a short time ago. */
  get isFailing(): boolean {
    return isWithin(this.#options.clock.now() - this.#failedAt, FAILURE_TTL_MS);
  }

  /** True if the lookup of the API key is queued or in flight. */
  isVerifying(id: string): boolean {
    return this.#pending.has(id);
  }

  /** Looks up the API key in the auth service. Throws UNAVAILABLE if auth is not reachable or the queue is full. */
  async verify(id: string, key: KeyIdentity, priority: Priority = 'normal'): Promise<LookupResult> {
    const pending = this.#pending.get(id);
    if (pending) return pending.promise;
    const queue = this.#queues[priority];
    if (queue.length >= MAX_QUEUED_BY[priority]) throw unavailable('too many keys are queued for verification');
    const queuedAt = this.#options.clock.now();
    const lookup: Lookup = { id, key, priority, queuedAt, changedVersion: 0, ...Promise.withResolvers<LookupResult>() };
    this.#pending.set(id, lookup);
    queue.push(lookup);
    this.#schedule();
    return lookup.promise;
  }

  /** Records a change of an API key whose lookup may be pending. A result with an older version must not be used. */
  markChanged(id: string, version: number): void {
    const lookup = this.#pending.get(id);
    if (lookup) lookup.changedVersion = Math.max(lookup.changedVersion, version);
  }

  /** Checks whether the auth service responds, with a lookup of no real API key. */
  async probe(): Promise<void> {
    try {
      await this.#options.client.verify({ keys: [NO_KEY] });
      this.#setFailing(false);
    } catch (error) {
      this.#setFailing(isServerError(asApiError(error)));
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#send(this.#next());
    });
  }

  /** Removes the lookups that may be sent now from the queues: low priority last, and only up to its share. */
  #next(): Lookup[] {
    const { normal, low } = this.#inFlight;
    const taken = this.#take('normal', MAX_IN_FLIGHT - normal - low);
    const capacity = Math.min(MAX_IN_FLIGHT - normal - low - taken.length, MAX_LOW_IN_FLIGHT - low);
    return taken.concat(this.#take('low', capacity));
  }

  #take(priority: Priority, max: number): Lookup[] {
    const now = this.#options.clock.now();
    const taken: Lookup[] = [];
    while (taken.length < max) {
      const lookup = this.#queues[priority].shift();
      if (!lookup) break;
      if (isWithin(now - lookup.queuedAt, MAX_QUEUE_MS)) taken.push(lookup);
      else this.#fail(lookup, 'the key waited too long in the queue for verification');
    }
    return taken;
  }

  async #send(lookups: Lookup[]): Promise<void> {
    if (lookups.length === 0) return;
    for (const { priority } of lookups) this.#inFlight[priority] += 1;
    const requestedAt = this.#options.clock.now();
    try {
      const results = await this.#request(lookups);
      this.#setFailing(false);
      for (const [index, lookup] of lookups.entries()) {
        if (results[index]?.isUnavailable) this.#fail(lookup, 'auth could not read the key');
        else this.#resolve(lookup, results[index]?.grant, requestedAt);
      }
    } catch (error) {
      this.#setFailing(true);
      for (const lookup of lookups) this.#fail(lookup, error);
    }
    for (const { priority } of lookups) this.#inFlight[priority] -= 1;
    if (this.#queues.normal.length + this.#queues.low.length > 0) this.#schedule();
  }

  async #request(lookups: Lookup[]): Promise<VerifyResult[]> {
    const keys = lookups.map(({ key }) => ({ guildId: key.guildId, hash: key.hash }));
    const { results } = await this.#options.client.verify({ keys });
    // A result that is missing in the auth service's response must not count as an unknown API key.
    if (results.length !== keys.length)
      throw new Error(`auth returned ${results.length} results for ${keys.length} keys`);
    return results;
  }

  #setFailing(isFailure: boolean): void {
    this.#failedAt = isFailure ? this.#options.clock.now() : Number.NEGATIVE_INFINITY;
  }

  #resolve(lookup: Lookup, grant: KeyGrant | undefined, requestedAt: number): void {
    const result = { grant, requestedAt, changedVersion: lookup.changedVersion };
    this.#pending.delete(lookup.id);
    this.#options.onResult(lookup.id, result);
    lookup.resolve(result);
  }

  #fail(lookup: Lookup, cause: unknown): void {
    this.#pending.delete(lookup.id);
    lookup.reject(unavailable(cause));
  }
}

/**
 * Returns the error of every failed key lookup. The client may retry, and is never told that its API key is invalid.
 */
export function unavailable(cause: unknown): ApiError {
  return new ApiError('UNAVAILABLE', { cause: cause instanceof Error ? cause : new Error(String(cause)) });
}
