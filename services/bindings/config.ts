import {
  databaseConfig,
  type Environment,
  eventsConfig,
  grpcAddress,
  grpcConfig,
  httpConfig,
  number,
  processConfig,
  readConfig,
} from '#kit/service/config.ts';
import { chatPlatformConfig, gamePlatformConfig, platformAccessConfig } from '#platforms/config.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/** The environment variables of bindings. */
export const bindingsVariables = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...eventsConfig,
  ...httpConfig,
  ...gamePlatformConfig,
  ...chatPlatformConfig,
  ...platformAccessConfig,
  LOOKUP_GRPC_ADDRESS: grpcAddress(),
  /** How long, in seconds, responses to writes with an Idempotency-Key are stored and repeated. */
  RETENTION_IDEMPOTENCY_SECONDS: number(DAY, HOUR),
};

export const readBindingsConfig = (environment: Environment) => readConfig(bindingsVariables, environment);

export type BindingsConfig = ReturnType<typeof readBindingsConfig>;
