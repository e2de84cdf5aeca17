import {
  databaseConfig,
  type Environment,
  grpcAddress,
  grpcConfig,
  httpConfig,
  number,
  processConfig,
  readConfig,
} from '#kit/service/config.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

const shape = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...httpConfig,
  LOOKUP_GRPC_ADDRESS: grpcAddress(),
  MEMBERS_GRPC_ADDRESS: grpcAddress(),
  /** How long a heartbeat waits for others, to be written with them. */
  HEARTBEAT_GATHER_MS: number(25, 0, 50),
  /** Polls that wait at once in this process; more are answered without waiting. */
  MAX_WAITING_POLLS: number(10_000, 0, 1_000_000),
  /** Servers of a guild that may be live at once. */
  MAX_LIVE_SERVERS: number(2_000, 1, 100_000),
  /** Staff actions that a guild may log on a day (UTC). */
  MAX_STAFF_ACTIONS_PER_DAY: number(100_000, 1, 100_000_000),
  /** How long answers to writes with an Idempotency-Key are kept and given again. */
  RETENTION_IDEMPOTENCY_SECONDS: number(DAY, HOUR),
  /** How long commands are kept after they were acknowledged or have expired. */
  RETENTION_COMMANDS_SECONDS: number(7 * DAY, HOUR),
  RETENTION_SESSIONS_SECONDS: number(400 * DAY, DAY),
  RETENTION_ACTIONS_SECONDS: number(400 * DAY, DAY),
  /** How long a place is kept after it was registered last. */
  RETENTION_GAMES_SECONDS: number(400 * DAY, DAY),
  /** How long servers are kept after they were live; the more are kept, the longer it takes to tell who is live. */
  RETENTION_SERVERS_SECONDS: number(HOUR, 600),
};

/** What activity is told; throws a ConfigError that lists every fault. */
export const readActivityConfig = (environment: Environment) => readConfig(shape, environment);

export type ActivityConfig = ReturnType<typeof readActivityConfig>;
