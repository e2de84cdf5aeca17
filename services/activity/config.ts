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

import { openCloudConfig, platformAccessConfig } from '#platforms/config.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/** The environment variables of activity. */
export const activityVariables = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...eventsConfig,
  ...httpConfig,
  ...openCloudConfig,
  ...platformAccessConfig,
  LOOKUP_GRPC_ADDRESS: grpcAddress(),
  MEMBERS_GRPC_ADDRESS: grpcAddress(),
  /** How long, in milliseconds, the heartbeat of a game server waits for others, so that one batch stores them. */
  HEARTBEAT_GATHER_MS: number(25, 0, 50),
  /**
   * The maximum number of long polls for commands that wait in this process; further polls are answered immediately.
   */
  MAX_WAITING_POLLS: number(10_000, 0, 1_000_000),
  /** The maximum number of live game servers of a guild. */
  MAX_LIVE_SERVERS: number(2_000, 1, 100_000),
  /** The maximum number of staff actions that a guild may log in a day (UTC). */
  MAX_STAFF_ACTIONS_PER_DAY: number(100_000, 1, 100_000_000),
  /** How long the response to a write request with an Idempotency-Key is stored for repeats of the request. */
  RETENTION_IDEMPOTENCY_SECONDS: number(DAY, HOUR),
  /** How long a command to game servers is stored after its acknowledgement or expiry. */
  RETENTION_COMMANDS_SECONDS: number(7 * DAY, HOUR),
  RETENTION_SESSIONS_SECONDS: number(400 * DAY, DAY),
  RETENTION_ACTIONS_SECONDS: number(400 * DAY, DAY),
  /** How long a registered place of a game is stored after its last registration. */
  RETENTION_GAMES_SECONDS: number(400 * DAY, DAY),
  /**
   * How long a game server is stored after it was last live. More stored servers make it slower to find the live ones.
   */
  RETENTION_SERVERS_SECONDS: number(HOUR, 600),
};

/**
 * Reads the configuration of the activity service from environment variables. Throws a ConfigError that lists every
 * fault.
 */
export const readActivityConfig = (environment: Environment) => readConfig(activityVariables, environment);

export type ActivityConfig = ReturnType<typeof readActivityConfig>;
