import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import type { Caller } from '#proto/gen/guild/auth/v1/console.ts';
import type { AuthClient } from '../http/sign-in.ts';

/** The maximum number of remembered sessions, of about 200 bytes each. */
const MAX_SESSIONS = 20_000;
/** Sessions whose person is not read again for this long. */
const MAX_AGE_MS = 10 * 60_000;

/**
 * The person of each session, only to count that person's requests: auth checks the session of each request again. Sessions
 * are identified by a hash of their token, so that no token stays in memory.
 */
export class Persons {
  readonly #auth: AuthClient;
  readonly #known = new LRUCache<string, string>({ ...maxEntries(MAX_SESSIONS), ttl: MAX_AGE_MS });

  constructor(auth: AuthClient) {
    this.#auth = auth;
  }

  /** Returns the person of a session. Throws NOT_SIGNED_IN if the session is unknown. */
  async of(caller: Caller): Promise<string> {
    const known = this.known(caller);
    if (known !== undefined) return known;
    const { person } = await this.#auth.getSession({ caller });
    this.learn(caller, person?.id ?? '');
    return person?.id ?? '';
  }

  /** Returns the person of a session without a call; undefined if it is not known yet. */
  known({ sessionToken }: Caller): string | undefined {
    return this.#known.get(sessionKey(sessionToken));
  }

  learn({ sessionToken }: Caller, personId: string): void {
    this.#known.set(sessionKey(sessionToken), personId);
  }

  forget({ sessionToken }: Caller): void {
    this.#known.delete(sessionKey(sessionToken));
  }
}

/** Identifies a session in this process without its token. */
export const sessionKey = (token: string) => createHash('sha256').update(token).digest('base64url');
