import { number } from '#kit/service/config.ts';

/** The configuration of the API key cache. */
export const keysConfig = {
  /** How many seconds cached API keys are accepted while the auth service is not reachable; 0 = not at all. */
  AUTH_STALE_SECONDS: number(60, 0, 3600),
  /** The maximum number of cached API keys. */
  KEY_CACHE_MAX: number(100_000, 1, 10_000_000),
};
