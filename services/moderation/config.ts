import {
  databaseConfig,
  type Environment,
  grpcAddress,
  grpcConfig,
  httpConfig,
  number,
  processConfig,
  queueConfig,
  readConfig,
} from '#kit/service/config.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

const shape = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...httpConfig,
  ...queueConfig,
  /** Decisions are delivered there; while nobody answers they wait. */
  ACTIVITY_GRPC_ADDRESS: grpcAddress(),
  /** How long a status may be remembered; 0 reads the database each time. */
  STATUS_CACHE_SECONDS: number(10, 0, 10),
  /** The most players whose status is remembered. */
  STATUS_CACHE_ENTRIES: number(100_000, 1, 10_000_000),
  /** Entries that a guild's own flagged list may have. */
  MAX_SHIELD_ENTRIES: number(100_000, 1, 10_000_000),
  /** How long answers to writes with an Idempotency-Key are kept and given again. */
  RETENTION_IDEMPOTENCY_SECONDS: number(DAY, HOUR),
  /** How long decisions that were delivered are kept in the outbox. */
  RETENTION_OUTBOX_SECONDS: number(DAY, HOUR),
};

/** What moderation is told; throws a ConfigError that lists every fault. */
export const readModerationConfig = (environment: Environment) => readConfig(shape, environment);

export type ModerationConfig = ReturnType<typeof readModerationConfig>;
