import { number } from '#kit/service/config.ts';

/** What the gateway is told about keys. */
export const keysConfig = {
  /** How long known keys are served while auth can not be reached; 0 = not at all. */
  AUTH_STALE_SECONDS: number(60, 0, 3600),
  /** The most keys that are remembered. */
  KEY_CACHE_MAX: number(100_000, 1, 10_000_000),
};
