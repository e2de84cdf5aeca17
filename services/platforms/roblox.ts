import { z } from 'zod';
import type { Breakers } from '#kit/breaker.ts';
import { LoadingCache } from '#kit/cache.ts';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Metrics } from '#kit/metrics.ts';
import type { GamePlatform, GameUser } from './game.ts';
import { type PlatformAnswer, PlatformHost } from './http.ts';

const NAME_KEPT_MS = 3600_000;
const MOST_NAMES = 10_000;
/** Of the users host: "The user id is invalid." */
const UNKNOWN_USER = 3;

const userAnswer = z.object({ id: z.int(), name: z.string().regex(/^\P{Cc}{1,50}$/u) });
const errorAnswer = z.object({ errors: z.array(z.object({ code: z.number() })) });

export interface RobloxOptions {
  config: { GAME_USERS_URL: string };
  breakers: Breakers;
  metrics: Metrics;
  clock: Clock;
  /** Of one call. */
  deadlineMs?: number;
}

/** Roblox by its public web APIs, as their documentation described them in August 2026. */
export class Roblox implements GamePlatform {
  readonly #users: PlatformHost;
  readonly #names: LoadingCache<GameUser | null>;

  constructor({ config, ...options }: RobloxOptions) {
    this.#users = new PlatformHost({
      name: 'game-users',
      platform: 'game platform',
      url: config.GAME_USERS_URL,
      ...options,
    });
    this.#names = new LoadingCache<GameUser | null>({
      ttlMs: NAME_KEPT_MS,
      max: MOST_NAMES,
      clock: options.clock,
      load: (id) => this.#loadUser(Number(id)),
      // Who is unknown may sign up in the next minute.
      remember: (user) => user !== null,
    });
  }

  /** Names are up to an hour old. */
  user(id: number): Promise<GameUser | null> {
    return this.#names.get(String(id));
  }

  /** `GET /v1/users/{id}`: 200 with the user, 404 with code 3 when there is none. */
  async #loadUser(id: number): Promise<GameUser | null> {
    const answer = await this.#users.get(`/v1/users/${id}`);
    if (answer.status === 404 && errorCode(answer) === UNKNOWN_USER) return null;
    const user = userAnswer.safeParse(answer.body);
    if (answer.status === 200 && user.data?.id === id) return user.data;
    throw new ApiError('PLATFORM_ERROR', { cause: new Error(`users answered ${answer.status} with another shape`) });
  }
}

/** The code in `{"errors":[{"code":3,"message":"…"}]}`. */
function errorCode({ body }: PlatformAnswer): number | undefined {
  return errorAnswer.safeParse(body).data?.errors[0]?.code;
}
