import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { LoadingCache } from '#kit/resilience/cache.ts';
import { BatchCache } from '../batch-cache.ts';
import type { GameUser, UnknownOrHidden } from '../game.ts';
import type { PlatformHost } from '../http/host.ts';
import { errorOf, resultOrUnknown } from './responses.ts';

const TTL_MS = 3600_000;
const MAX_CACHED_USERS = 10_000;
/** The maximum number of users in one request of the game platform. */
const MAX_BATCH = 100;
/** The error code with which the game platform's host for users says "The user id is invalid." */
const UNKNOWN_USER = 3;

const shortSchema = z.object({ id: z.int(), name: z.string().regex(/^\P{Cc}{1,50}$/u) });
const userSchema = shortSchema.extend({ created: z.string().optional() });
const listSchema = z.object({ data: z.array(shortSchema) });

type Profile = { user: GameUser; createdAt: Date | UnknownOrHidden };

/** Reads users of the game platform from the users host, with a cache. */
export class Users {
  readonly #host: PlatformHost;
  readonly #profiles: LoadingCache<Profile | null>;
  readonly #names: BatchCache<GameUser | null>;

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
    this.#names = new BatchCache<GameUser | null>({
      ttlMs: TTL_MS,
      max: MAX_CACHED_USERS,
      batch: MAX_BATCH,
      clock,
      load: (ids) => this.#loadNames(ids),
      isCacheable: (user) => user !== null,
    });
  }

  async user(id: number): Promise<GameUser | null> {
    return (await this.#profiles.get(String(id)))?.user ?? null;
  }

  /** Returns the users with these IDs, without those that do not exist. */
  async users(ids: readonly number[]): Promise<Map<number, GameUser>> {
    const users = await this.#names.get(ids);
    return new Map([...users].flatMap(([id, user]): [number, GameUser][] => (user ? [[id, user]] : [])));
  }

  /** Returns the user with this name or former name; `POST /v1/usernames/users` ignores case. */
  async byName(name: string): Promise<GameUser | null> {
    const body = { usernames: [name], excludeBannedUsers: false };
    const response = await this.#host.call('/v1/usernames/users', { method: 'POST', body });
    const [user] = this.#host.expect(response, listSchema).data;
    return user ?? null;
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

  /** Loads several users. `POST /v1/users` omits those that do not exist. */
  async #loadNames(ids: readonly number[]): Promise<Map<number, GameUser | null>> {
    const body = { userIds: ids, excludeBannedUsers: false };
    const response = await this.#host.call('/v1/users', { method: 'POST', body });
    const found = new Map(this.#host.expect(response, listSchema).data.map((user) => [user.id, user]));
    return new Map(ids.map((id) => [id, found.get(id) ?? null]));
  }
}

function readTime(text = ''): Date | UnknownOrHidden {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? 'hidden' : time;
}
