import {
  databaseConfig,
  type Environment,
  eventsConfig,
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

/** The environment variables of moderation. */
export const moderationVariables = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...eventsConfig,
  ...httpConfig,
  ...queueConfig,
  /** The address of the lookup service, which has the link of a player. */
  LOOKUP_GRPC_ADDRESS: grpcAddress(),
  /**
   * The address of the activity service, to which decisions are delivered, and which has the staff session and the game
   * server of a player. While it is down, decisions wait in the outbox.
   */
  ACTIVITY_GRPC_ADDRESS: grpcAddress(),
  /** Seconds for which the status of a player is cached; with 0, every check reads the database. */
  STATUS_CACHE_SECONDS: number(10, 0, 10),
  /** The maximum number of cached player statuses. */
  STATUS_CACHE_ENTRIES: number(100_000, 1, 10_000_000),
  /** The maximum number of entries in a guild's own flagged list. */
  MAX_SHIELD_ENTRIES: number(100_000, 1, 10_000_000),
  /** Seconds for which the response to a write with an Idempotency-Key is stored, for repeats of the request. */
  RETENTION_IDEMPOTENCY_SECONDS: number(DAY, HOUR),
  /** Seconds for which a moderation decision stays in the outbox after its delivery. */
  RETENTION_OUTBOX_SECONDS: number(DAY, HOUR),
};

/** Reads the configuration of the moderation service. Throws a ConfigError that lists every fault. */
export const readModerationConfig = (environment: Environment) => readConfig(moderationVariables, environment);

export type ModerationConfig = ReturnType<typeof readModerationConfig>;
