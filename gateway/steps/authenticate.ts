import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { type ApiKey, readApiKey } from '#kit/security/api-key.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { AUTHENTICATION_LIMIT, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import { type Awaitable, andThen } from '../and-then.ts';
import type { Address } from '../downstream/client-address.ts';
import type { Keys } from '../keys/keys.ts';
import type { AuthenticationFailures } from '../limits/authentication-failures.ts';
import type { LookupRates } from '../limits/lookup-rates.ts';
import { rateLimited, tellLimit } from './limit.ts';

const SCHEME = /^(?:ApiKey|Bearer) +(.*)$/i;
const KEY_SHAPE = /service_[0-9]{17,20}_[0-9A-Za-z]{6}/;
const KEY_PARAMETERS = ['api_key', 'apikey', 'key', 'access_token'];
const KEY_PARAMETER = new RegExp(`(?:^|[?&])(?:${KEY_PARAMETERS.join('|')})(?:[=&]|$)`, 'i');

// Made once: they tell the same each time, and to make an error costs more than to judge a key.
const MISSING = new ApiError('MISSING_API_KEY', {
  message: 'An API key is required: send it as X-API-Key, or as Authorization: ApiKey or Bearer',
});
const INVALID = new ApiError('INVALID_API_KEY');
const IN_URL = new ApiError('INVALID_API_KEY', { message: 'Keys in URLs are refused' });
const EXPIRED = new ApiError('API_KEY_EXPIRED');
const TOO_MANY = 'Too many requests with missing or invalid API keys from this address';
const LOOKUP_RETRY_SECONDS = 1;
const TOO_MANY_LOOKUPS = new ApiError('RATE_LIMITED', {
  message: TOO_MANY,
  details: { ...AUTHENTICATION_LIMIT, window: WINDOW_SECONDS, retryAfter: LOOKUP_RETRY_SECONDS },
  retryAfter: LOOKUP_RETRY_SECONDS,
});

export interface Presented {
  request: IncomingMessage;
  /** Without the question mark. */
  query: string;
  /** The client's, for which rejections are counted. */
  address: () => Address | undefined;
  /** Gets the headers that report how many rejections are left. */
  response: ServerResponse;
}

export interface AuthenticateOptions {
  keys: Keys;
  failures: AuthenticationFailures;
  /** Of unknown keys, for addresses with too many failures. */
  lookups: LookupRates;
  clock: Clock;
}

/** Finds out which key a request carries. A rejection counts against its address; a valid key never does. */
export class Authenticate {
  readonly #keys: Keys;
  readonly #failures: AuthenticationFailures;
  readonly #lookups: LookupRates;
  readonly #clock: Clock;

  constructor({ keys, failures, lookups, clock }: AuthenticateOptions) {
    this.#keys = keys;
    this.#failures = failures;
    this.#lookups = lookups;
    this.#clock = clock;
  }

  /** The key's grant, not expired; else MISSING_API_KEY, INVALID_API_KEY, API_KEY_EXPIRED, RATE_LIMITED or UNAVAILABLE. */
  run(presented: Presented): Awaitable<KeyGrant | ApiError> {
    const text = presentedKey(presented.request.headers);
    const key = readApiKey(text ?? '');
    if (hasKeyInQuery(presented.query)) {
      return key && this.#keys.isKnown(key) ? IN_URL : this.#refuse(presented, IN_URL);
    }
    if (!text) return this.#refuse(presented, MISSING);
    if (!key) return this.#refuse(presented, INVALID);
    const known = this.#keys.peek(key);
    return known ? this.#unexpired(known, presented) : this.#find(key, presented);
  }

  #find(key: ApiKey, presented: Presented): Awaitable<KeyGrant | ApiError> {
    const isSuspect = this.#failures.isExhausted(presented.address()) && !this.#keys.isKnown(key);
    if (isSuspect && this.#keys.needsLookup(key) && !this.#lookups.take(presented.address(), key.guildId)) {
      return this.#refuseLookup(presented);
    }
    return andThen(this.#keys.find(key, isSuspect ? 'low' : 'normal'), (grant) =>
      grant ? this.#unexpired(grant, presented) : this.#refuse(presented, INVALID),
    );
  }

  /** 429 without a lookup. The key may be valid, so nothing is counted. */
  #refuseLookup({ address, response }: Presented): ApiError {
    tellLimit(this.#failures.state(address()), this.#clock, response);
    return TOO_MANY_LOOKUPS;
  }

  #unexpired(grant: KeyGrant, presented: Presented): KeyGrant | ApiError {
    const isExpired = grant.expiresAt > 0 && grant.expiresAt * 1000 <= this.#clock.now();
    return isExpired ? this.#refuse(presented, EXPIRED) : grant;
  }

  /** The refusal itself, or 429 once the address has had its share of them. */
  #refuse(presented: Presented, refusal: ApiError): ApiError {
    const state = this.#failures.count(presented.address());
    tellLimit(state, this.#clock, presented.response);
    if (!state.exhausted) return refusal;
    return rateLimited(state, () => TOO_MANY);
  }
}

/** X-API-Key, else the credentials of Authorization in one of its two schemes. */
function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['x-api-key'];
  if (typeof given === 'string' && given !== '') return given;
  return SCHEME.exec(headers.authorization ?? '')?.[1]?.trim();
}

/** Keys in addresses end up in logs and histories, so such a request is refused even beside a good header. */
function hasKeyInQuery(query: string): boolean {
  if (query === '') return false;
  // The guard has seen to it that it can be decoded.
  const decoded = decodeURIComponent(query);
  if (KEY_SHAPE.test(decoded)) return true;
  // An encoded `&` can have made it look so.
  return KEY_PARAMETER.test(decoded) && query.split('&').some(isKeyParameter);
}

function isKeyParameter(parameter: string): boolean {
  const [name = ''] = parameter.split('=', 1);
  return KEY_PARAMETERS.includes(decodeURIComponent(name).toLowerCase().replace(/^\?/, ''));
}
