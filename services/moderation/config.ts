import {
  ConfigError,
  databaseConfig,
  type Environment,
  grpcAddress,
  grpcConfig,
  httpConfig,
  number,
  processConfig,
  readConfig,
  secrets,
} from '#kit/config.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

const shape = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...httpConfig,
  /** Decisions are delivered there; while nobody answers they wait. */
  ACTIVITY_GRPC_ADDRESS: grpcAddress(),
  /** For the flagged list: held by guildctl and the services that operators change. */
  ADMIN_SECRETS: secrets(),
  /** How long a status may be remembered; 0 reads the database each time. */
  STATUS_CACHE_SECONDS: number(10, 0, 10),
  /** The most players whose status is remembered. */
  STATUS_CACHE_ENTRIES: number(100_000, 1, 10_000_000),
  /** How long answers to writes with an Idempotency-Key are kept. */
  RETENTION_IDEMPOTENCY_SECONDS: number(DAY, HOUR),
  /** How long decisions that were delivered are kept in the outbox. */
  RETENTION_OUTBOX_SECONDS: number(DAY, HOUR),
};

export type ModerationConfig = ReturnType<typeof readModerationConfig>;

/** What moderation is told; throws a ConfigError that lists every fault. */
export function readModerationConfig(environment: Environment) {
  const config = readConfig(shape, environment);
  if (config.ADMIN_SECRETS.some((secret) => config.INTERNAL_SECRETS.includes(secret))) {
    // Every service could flag players then.
    throw new ConfigError(['ADMIN_SECRETS must not hold a secret of INTERNAL_SECRETS']);
  }
  return config;
}
