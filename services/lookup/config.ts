import {
  databaseConfig,
  type Environment,
  eventsConfig,
  grpcConfig,
  httpConfig,
  number,
  processConfig,
  readConfig,
  redisConfig,
} from '#kit/service/config.ts';

const HOUR = 3600;

/** The environment variables of lookup. */
export const lookupVariables = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...eventsConfig,
  ...httpConfig,
  ...redisConfig,
  /** Seconds for which a link is cached; with 0, every lookup reads the database. */
  LINK_CACHE_SECONDS: number(60, 0, 600),
  /** The maximum number of accounts whose link is cached; each takes about 330 bytes. */
  LINK_CACHE_ENTRIES: number(50_000, 1, 1_000_000),
  /** How long, in seconds, the IDs of rejected writes are stored, so that repeats of these writes are rejected too. */
  RETENTION_OPERATIONS_SECONDS: number(7 * 24 * HOUR, HOUR),
};

export const readLookupConfig = (environment: Environment) => readConfig(lookupVariables, environment);

export type LookupConfig = ReturnType<typeof readLookupConfig>;
