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

const DAY = 24 * 3600;
const MIN_AUDIT_SECONDS = 31 * DAY;

const shape = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...eventsConfig,
  ...httpConfig,
  LOOKUP_GRPC_ADDRESS: grpcAddress(),
  BINDINGS_GRPC_ADDRESS: grpcAddress(),
  MEMBERS_GRPC_ADDRESS: grpcAddress(),
  ACTIVITY_GRPC_ADDRESS: grpcAddress(),
  MODERATION_GRPC_ADDRESS: grpcAddress(),
  /**
   * How long, in seconds, audit entries are stored; 0 means forever. The database never deletes entries younger than 30
   * days.
   */
  RETENTION_AUDIT_SECONDS: number(730 * DAY).refine((value) => value === 0 || value >= MIN_AUDIT_SECONDS, {
    error: `must be 0 or at least ${MIN_AUDIT_SECONDS}`,
  }),
  /** How long the requests of a guild are stored by day; the API returns 30 days. */
  RETENTION_REQUESTS_SECONDS: number(30 * DAY, 30 * DAY),
};

/**
 * Reads the configuration of the auth service from environment variables. Throws a ConfigError that lists every fault.
 */
export const readAuthConfig = (environment: Environment) => readConfig(shape, environment);

export type AuthConfig = ReturnType<typeof readAuthConfig>;
