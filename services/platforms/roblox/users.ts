import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { LoadingCache } from '#kit/resilience/cache.ts';
import type { GameUser, Untold } from '../game.ts';
import type { PlatformHost } from '../http/host.ts';
import { orUnknown, refusal } from './responses.ts';

const KEPT_MS = 3600_000;
const MOST_USERS = 10_000;
/** Of the users host: "The user id is invalid." */
const UNKNOWN_USER = 3;

const userAnswer = z.object({ id: z.int(), name: z.string().regex(/^\P{Cc}{1,50}$/u), created: z.string().optional() });

type Profile = { user: GameUser; createdAt: Date | Untold };

/** Users, by the users host. */
export class Users {
  readonly #host: PlatformHost;
  readonly #profiles: LoadingCache<Profile | null>;

  constructor(host: PlatformHost, clock: Clock) {
    this.#host = host;
    this.#profiles = new LoadingCache<Profile | null>({
      ttlMs: KEPT_MS,
      max: MOST_USERS,
      clock,
      load: (id) => this.#load(Number(id)),
      // Who is unknown may sign up in the next minute.
      remember: (profile) => profile !== null,
    });
  }

  async user(id: number): Promise<GameUser | null> {
    return (await this.#profiles.get(String(id)))?.user ?? null;
  }

  /** Of a user who does not exist it is hidden. */
  async createdAt(id: number): Promise<Date | Untold> {
    const profile = await orUnknown(this.#profiles.get(String(id)));
    if (profile === null) return 'hidden';
    return profile === 'unknown' ? profile : profile.createdAt;
  }

  /** `GET /v1/users/{id}`: 200 with the user, 404 with code 3 when there is none. */
  async #load(id: number): Promise<Profile | null> {
    const answer = await this.#host.get(`/v1/users/${id}`);
    if (answer.status === 404 && refusal(answer)?.code === UNKNOWN_USER) return null;
    const { created, ...user } = this.#host.expect(answer, userAnswer);
    if (user.id !== id) throw this.#host.misunderstood(answer, 'another user');
    return { user, createdAt: readTime(created) };
  }
}

function readTime(text = ''): Date | Untold {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? 'hidden' : time;
}
