import {
  databaseConfig,
  type Environment,
  grpcConfig,
  httpConfig,
  number,
  processConfig,
  readConfig,
} from '#kit/service/config.ts';

const HOUR = 3600;

const shape = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...httpConfig,
  /** How long a refused write is remembered, so that its repeat is refused too. */
  RETENTION_OPERATIONS_SECONDS: number(7 * 24 * HOUR, HOUR),
};

export const readLookupConfig = (environment: Environment) => readConfig(shape, environment);

export type LookupConfig = ReturnType<typeof readLookupConfig>;
