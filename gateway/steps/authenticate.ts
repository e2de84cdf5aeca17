import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type ApiKey, readApiKey } from '#kit/api-key.ts';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { AUTHENTICATION_LIMIT, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Address } from '../client-address.ts';
import type { Keys } from '../keys/keys.ts';
import type { AuthenticationFailures } from '../limits/authentication-failures.ts';
import { tellLimit } from './limit.ts';

const SCHEME = /^(?:ApiKey|Bearer) +(.*)$/i;
const KEY_SHAPE = /service_[0-9]{17,20}_[0-9A-Za-z]{6}/;
const KEY_PARAMETERS = ['api_key', 'apikey', 'key', 'access_token'];

export interface Presented {
  request: IncomingMessage;
  /** Without the question mark. */
  query: string;
  /** The caller's, for which refusals are counted together; undefined where what was forwarded is malformed. */
  address: () => Address | undefined;
  /** Tells how many refusals are left. */
  response: ServerResponse;
}

/** Finds out which key a request carries. A refusal counts against its address; a key known good never does. */
export class Authenticate {
  readonly #keys: Keys;
  readonly #failures: AuthenticationFailures;
  readonly #clock: Clock;

  constructor(keys: Keys, failures: AuthenticationFailures, clock: Clock) {
    this.#keys = keys;
    this.#failures = failures;
    this.#clock = clock;
  }

  /** The key's grant, not expired. MISSING_API_KEY, INVALID_API_KEY, API_KEY_EXPIRED, RATE_LIMITED, UNAVAILABLE. */
  run(presented: Presented): KeyGrant | Promise<KeyGrant> {
    const text = presentedKey(presented.request.headers);
    const key = readApiKey(text ?? '');
    if (hasKeyInQuery(presented.query)) {
      const refusal = new ApiError('INVALID_API_KEY');
      throw key && this.#keys.isKnown(key) ? refusal : this.#refuse(presented, refusal);
    }
    if (!text) throw this.#refuse(presented, new ApiError('MISSING_API_KEY', { message: HOW_TO_SEND }));
    if (!key) throw this.#refuse(presented, new ApiError('INVALID_API_KEY'));
    const known = this.#keys.peek(key);
    return known ? this.#unexpired(known, presented) : this.#find(key, presented);
  }

  async #find(key: ApiKey, presented: Presented): Promise<KeyGrant> {
    // An address that has guessed too often gets no more look-ups, except for keys that were good lately.
    const isUnheard = this.#failures.isExhausted(addressText(presented)) && !this.#keys.isKnown(key);
    const grant = isUnheard ? undefined : await this.#keys.find(key);
    if (!grant) throw this.#refuse(presented, new ApiError('INVALID_API_KEY'));
    return this.#unexpired(grant, presented);
  }

  #unexpired(grant: KeyGrant, presented: Presented): KeyGrant {
    if (grant.expiresAt > 0 && grant.expiresAt * 1000 <= this.#clock.now()) {
      throw this.#refuse(presented, new ApiError('API_KEY_EXPIRED'));
    }
    return grant;
  }

  /** The refusal itself, or 429 once the address has had its share of them. */
  #refuse(presented: Presented, refusal: ApiError): ApiError {
    const state = this.#failures.count(addressText(presented));
    tellLimit(state, this.#clock, presented.response);
    const { exhausted, retryAfterSeconds } = state;
    if (!exhausted) return refusal;
    const { category, limit } = AUTHENTICATION_LIMIT;
    return new ApiError('RATE_LIMITED', {
      message: 'Too many requests with missing or invalid API keys from this address',
      details: { category, limit, window: WINDOW_SECONDS, retryAfter: retryAfterSeconds },
      retryAfter: retryAfterSeconds,
    });
  }
}

const HOW_TO_SEND = 'An API key is required: send it as X-API-Key, or as Authorization: ApiKey or Bearer';

function addressText({ request, address }: Presented): string {
  return address()?.toString() ?? request.socket.remoteAddress ?? 'unknown';
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
  for (const [name, value] of new URLSearchParams(query)) {
    if (KEY_PARAMETERS.includes(name.toLowerCase()) || KEY_SHAPE.test(value) || KEY_SHAPE.test(name)) return true;
  }
  return false;
}
