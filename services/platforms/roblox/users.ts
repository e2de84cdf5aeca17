import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { LoadingCache } from '#kit/resilience/cache.ts';
import type { GameUser, UnknownOrHidden } from '../game.ts';
import type { PlatformHost } from '../http/host.ts';
import { errorOf, resultOrUnknown } from './responses.ts';

const TTL_MS = 3600_000;
const MAX_CACHED_USERS = 10_000;
/** The error code with which the game platform's host for users says "The user id is invalid." */
const UNKNOWN_USER = 3;

const userSchema = z.object({ id: z.int(), name: z.string().regex(/^\P{Cc}{1,50}$/u), created: z.string().optional() });

type Profile = { user: GameUser; createdAt: Date | UnknownOrHidden };

/** Reads users of the game platform from the users host, with a cache. */
export class Users {
  readonly #host: PlatformHost;
  readonly #profiles: LoadingCache<Profile | null>;

  constructor(host: PlatformHost, clock: Clock) {
    this.#host = host;
    this.#profiles = new LoadingCache<Profile | null>({
      ttlMs: TTL_MS,
      max: MAX_CACHED_USERS,
      clock,
      load: (id) => this.#load(Number(id)),
      // A user who does not exist is not cached, because the user may sign up in the next minute.
      isCacheable: (profile) => profile !== null,
    });
  }

  async user(id: number): Promise<GameUser | null> {
    return (await this.#profiles.get(String(id)))?.user ?? null;
  }

  /** Returns when the user's account was created; `hidden` for a user who does not exist. */
  async createdAt(id: number): Promise<Date | UnknownOrHidden> {
    const profile = await resultOrUnknown(this.#profiles.get(String(id)));
    if (profile === null) return 'hidden';
    return profile === 'unknown' ? profile : profile.createdAt;
  }

  /** Loads a user. `GET /v1/users/{id}` responds with 200 and the user, or with 404 and code 3 if there is none. */
  async #load(id: number): Promise<Profile | null> {
    const response = await this.#host.get(`/v1/users/${id}`);
    if (response.status === 404 && errorOf(response)?.code === UNKNOWN_USER) return null;
    const { created, ...user } = this.#host.expect(response, userSchema);
    if (user.id !== id) throw this.#host.unexpectedResponse(response, 'another user');
    return { user, createdAt: readTime(created) };
  }
}

function readTime(text = ''): Date | UnknownOrHidden {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? 'hidden' : time;
}
