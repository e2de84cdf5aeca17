import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import type { Address } from '#kit/downstream/client-address.ts';
import { ApiError } from '#kit/errors.ts';
import type { AuthenticationFailures } from '#kit/limits/authentication-failures.ts';
import type { KeyLookupRates } from '#kit/limits/key-lookup-rates.ts';
import { addLimitHeaders, rateLimited } from '#kit/limits/response.ts';
import { type ApiKey, readApiKey } from '#kit/security/api-key.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { AUTHENTICATION_LIMIT } from '#proto/rest/limits.ts';
import type { Keys } from '../keys/keys.ts';

const SCHEME = /^(?:ApiKey|Bearer) +(.*)$/i;
const KEY_SHAPE = /service_[0-9]{17,20}_[0-9A-Za-z]{6}/;
const KEY_PARAMETERS = ['api_key', 'apikey', 'key', 'access_token'];
const KEY_PARAMETER = new RegExp(`(?:^|[?&])(?:${KEY_PARAMETERS.join('|')})(?:[=&]|$)`, 'i');

// These errors are created once, because creating an error costs more than authenticating an API key.
const MISSING = new ApiError('MISSING_API_KEY', {
  message: 'An API key is required: send it as X-API-Key, or as Authorization: ApiKey or Bearer',
});
const INVALID = new ApiError('INVALID_API_KEY');
const IN_URL = new ApiError('INVALID_API_KEY', { message: 'Keys in URLs are rejected' });
const EXPIRED = new ApiError('API_KEY_EXPIRED');
const TOO_MANY = 'Too many requests with missing or invalid API keys from this address';
const LOOKUP_RETRY_MS = 1_000;
const TOO_MANY_LOOKUPS = rateLimited({ ...AUTHENTICATION_LIMIT, resetMs: LOOKUP_RETRY_MS }, () => TOO_MANY);

/** The parts of a request that authentication needs. */
export interface Presented {
  request: IncomingMessage;
  /** The query string of the request, without the question mark. */
  query: string;
  /** Returns the client's address, towards which failed authentications count. */
  address: () => Address | undefined;
  /** The response, which gets the headers that show how many failed authentications are still allowed. */
  response: ServerResponse;
}

export interface AuthenticateOptions {
  keys: Keys;
  failures: AuthenticationFailures;
  /** Limits lookups of unknown API keys from addresses with too many failed authentications. */
  lookups: KeyLookupRates;
  clock: Clock;
}

/**
 * Authenticates requests by their API key. Each failure counts towards the client's address; a valid key never does.
 */
export class Authenticate {
  readonly #keys: Keys;
  readonly #failures: AuthenticationFailures;
  readonly #lookups: KeyLookupRates;
  readonly #clock: Clock;

  constructor({ keys, failures, lookups, clock }: AuthenticateOptions) {
    this.#keys = keys;
    this.#failures = failures;
    this.#lookups = lookups;
    this.#clock = clock;
  }

  /**
   * Returns the grant of an API key that has not expired, or MISSING_API_KEY, INVALID_API_KEY, API_KEY_EXPIRED or
   * RATE_LIMITED. Returns a promise if the key has to be looked up, which rejects with UNAVAILABLE if the auth service
   * cannot be reached.
   */
  run(presented: Presented): KeyGrant | ApiError | Promise<KeyGrant | ApiError> {
    const text = presentedKey(presented.request.headers);
    const key = readApiKey(text ?? '');
    if (hasKeyInQuery(presented.query)) {
      return key && this.#keys.isKnown(key) ? IN_URL : this.#reject(presented, IN_URL);
    }
    if (!text) return this.#reject(presented, MISSING);
    if (!key) return this.#reject(presented, INVALID);
    const known = this.#keys.peek(key);
    return known ? this.#unexpired(known, presented) : this.#find(key, presented);
  }

  #find(key: ApiKey, presented: Presented): ApiError | Promise<KeyGrant | ApiError> {
    const isSuspect = this.#failures.isExhausted(presented.address()) && !this.#keys.isKnown(key);
    if (isSuspect && this.#keys.needsLookup(key) && !this.#lookups.take(presented.address(), key.guildId)) {
      return this.#rejectLookup(presented);
    }
    return this.#lookUp(key, presented, isSuspect ? 'low' : 'normal');
  }

  async #lookUp(key: ApiKey, presented: Presented, priority: 'low' | 'normal'): Promise<KeyGrant | ApiError> {
    const grant = await this.#keys.find(key, priority);
    return grant ? this.#unexpired(grant, presented) : this.#reject(presented, INVALID);
  }

  /** Returns 429 without looking up the API key. The key may be valid, so no failed authentication is counted. */
  #rejectLookup({ address, response }: Presented): ApiError {
    addLimitHeaders(this.#failures.state(address()), this.#clock, response);
    return TOO_MANY_LOOKUPS;
  }

  #unexpired(grant: KeyGrant, presented: Presented): KeyGrant | ApiError {
    const isExpired = grant.expiresAt > 0 && grant.expiresAt * 1000 <= this.#clock.now();
    return isExpired ? this.#reject(presented, EXPIRED) : grant;
  }

  /** Counts a failed authentication. Returns `error`, or 429 if the client address has too many failures. */
  #reject(presented: Presented, error: ApiError): ApiError {
    const state = this.#failures.count(presented.address());
    addLimitHeaders(state, this.#clock, presented.response);
    if (!state.exhausted) return error;
    return rateLimited(state, () => TOO_MANY);
  }
}

/**
 * Returns the API key of a request: X-API-Key, otherwise the credentials of Authorization in the ApiKey or Bearer
 * scheme.
 */
export function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['x-api-key'];
  if (typeof given === 'string' && given !== '') return given;
  return SCHEME.exec(headers.authorization ?? '')?.[1]?.trim();
}

/**
 * True if the query string contains an API key, which is rejected even next to a valid header: URLs end up in logs and
 * browser histories.
 */
function hasKeyInQuery(query: string): boolean {
  if (query === '') return false;
  // decodeURIComponent cannot throw here, because the guard has rejected queries that cannot be decoded.
  const decoded = decodeURIComponent(query);
  if (KEY_SHAPE.test(decoded)) return true;
  // The name of the key parameter may be found after an encoded `&`, so each parameter is checked by itself.
  return KEY_PARAMETER.test(decoded) && query.split('&').some(isKeyParameter);
}

function isKeyParameter(parameter: string): boolean {
  const [name = ''] = parameter.split('=', 1);
  return KEY_PARAMETERS.includes(decodeURIComponent(name).toLowerCase().replace(/^\?/, ''));
}
