import type { Rejection } from '#kit/errors.ts';
import type { ApiKey } from '#kit/security/api-key.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { grantsScope, SCOPES } from '#proto/rest/scopes.ts';
import { scopesOf } from '../steps/scope.ts';
import type { EventRelay, StreamEnd } from './event-relay.ts';

/** A stream of events with what its API key was allowed when it opened. */
export interface WatchedStream {
  relay: EventRelay;
  grant: KeyGrant;
  /** Checks the address and the scope of the route against a newer grant of the API key. */
  check: (grant: KeyGrant) => Rejection;
}

/** An API key with its open streams of events. */
export class WatchedKey {
  readonly key: ApiKey;
  /** The newest known grant of the API key. */
  grant: KeyGrant;
  readonly streams = new Set<WatchedStream>();
  /** When the verification of the API key began to fail, in Unix milliseconds; undefined while it succeeds. */
  failingSince: number | undefined;

  constructor(key: ApiKey, grant: KeyGrant) {
    this.key = key;
    this.grant = grant;
  }

  /** True if the API key has expired, or its secret was replaced and the grace period is over. */
  hasExpired(now: number): boolean {
    const { expiresAt, validUntil } = this.grant;
    return [expiresAt, validUntil].some((seconds) => seconds > 0 && seconds * 1000 <= now);
  }

  /** Ends the streams that a newer grant of the API key no longer allows. Without a grant it allows none. */
  apply(grant: KeyGrant | undefined, now: number): void {
    this.failingSince = undefined;
    if (grant) this.grant = grant;
    if (!grant || this.hasExpired(now)) return this.end('key');
    for (const { relay, grant: opened, check } of this.streams) {
      // The service selects the events by the scopes with which the stream was opened.
      if (hasLostScopes(opened, grant) || check(grant)) relay.end('permission');
    }
  }

  end(end: StreamEnd): void {
    for (const { relay } of this.streams) relay.end(end);
  }
}

function hasLostScopes(opened: KeyGrant, now: KeyGrant): boolean {
  const [before, after] = [scopesOf(opened), scopesOf(now)];
  return SCOPES.some((scope) => grantsScope(before, scope) && !grantsScope(after, scope));
}
