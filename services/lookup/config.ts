import {
  databaseConfig,
  type Environment,
  eventsConfig,
  grpcConfig,
  httpConfig,
  number,
  processConfig,
  readConfig,
} from '#kit/service/config.ts';

const HOUR = 3600;

/** The environment variables of lookup. */
export const lookupVariables = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...eventsConfig,
  ...httpConfig,
  /** How long, in seconds, the IDs of rejected writes are stored, so that repeats of these writes are rejected too. */
  RETENTION_OPERATIONS_SECONDS: number(7 * 24 * HOUR, HOUR),
};

export const readLookupConfig = (environment: Environment) => readConfig(lookupVariables, environment);

export type LookupConfig = ReturnType<typeof readLookupConfig>;
