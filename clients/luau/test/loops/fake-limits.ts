import { ROUTES } from '#proto/rest/index.ts';
import { CATEGORIES, type Category, WINDOW_SECONDS } from '#proto/rest/limits.ts';

export interface LimitedRequest {
  at: number;
  method: string;
  path: string;
}

export interface Decision {
  category: string;
  limit: number;
  /** Negative if the request is above the limit. */
  remaining: number;
  secondsLeft: number;
}

const ROWS = ROUTES.map(({ method, path, category }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`),
  category,
}));

/** Counts requests by category in windows aligned to the clock, as the gateway does. All servers share the limits. */
export class FakeLimits {
  readonly #counts = new Map<string, number>();
  #window = 0;

  count(request: LimitedRequest): Decision | undefined {
    const row = ROWS.find(({ method, pattern }) => method === request.method && pattern.test(request.path));
    const category = row?.category as Category | undefined;
    if (category === undefined) return undefined;
    const seconds = request.at / 1000;
    const window = Math.floor(seconds / WINDOW_SECONDS);
    if (window !== this.#window) this.#counts.clear();
    this.#window = window;
    const { limit } = CATEGORIES[category];
    const count = (this.#counts.get(category) ?? 0) + 1;
    if (count <= limit) this.#counts.set(category, count);
    return {
      category,
      limit,
      remaining: limit - count,
      secondsLeft: Math.ceil((window + 1) * WINDOW_SECONDS - seconds),
    };
  }
}
