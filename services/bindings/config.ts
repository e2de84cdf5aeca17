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
import { chatPlatformConfig, gamePlatformConfig } from '#platforms/config.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

const shape = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...eventsConfig,
  ...httpConfig,
  ...gamePlatformConfig,
  ...chatPlatformConfig,
  LOOKUP_GRPC_ADDRESS: grpcAddress(),
  /** How long, in seconds, responses to writes with an Idempotency-Key are stored and repeated. */
  RETENTION_IDEMPOTENCY_SECONDS: number(DAY, HOUR),
};

export const readBindingsConfig = (environment: Environment) => readConfig(shape, environment);

export type BindingsConfig = ReturnType<typeof readBindingsConfig>;
