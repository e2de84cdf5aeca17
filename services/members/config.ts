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
import { chatPlatformConfig, gamePlatformConfig, platformAccessConfig } from '#platforms/config.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/** The environment variables of members. */
export const membersVariables = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...eventsConfig,
  ...httpConfig,
  ...queueConfig,
  ...gamePlatformConfig,
  ...chatPlatformConfig,
  ...platformAccessConfig,
  LOOKUP_GRPC_ADDRESS: grpcAddress(),
  BINDINGS_GRPC_ADDRESS: grpcAddress(),
  /** Seconds for which responses to writes with an Idempotency-Key are stored, to repeat them. */
  RETENTION_IDEMPOTENCY_SECONDS: number(DAY, HOUR),
  /** Seconds for which verification tokens are stored after they have expired. */
  RETENTION_TOKENS_SECONDS: number(DAY, HOUR),
  /** Seconds for which finished link changes are stored. */
  RETENTION_INTENTS_SECONDS: number(DAY, HOUR),
  /**
   * Seconds for which unfinished role tasks (role updates after a link change) are stored, including dead letters. A
   * task is retried for about a day.
   */
  RETENTION_ROLE_TASKS_SECONDS: number(30 * DAY, HOUR),
  /** Seconds for which the ranks of a member that are no longer polled are stored. */
  RETENTION_KNOWN_RANKS_SECONDS: number(7 * DAY, 2 * DAY),
  /** Seconds for which synchronisation jobs are stored after their end. */
  RETENTION_JOBS_SECONDS: number(30 * DAY, HOUR),
  /**
   * The minimum time in seconds from the start of a round through the linked members of a guild, to notice changes of
   * rank, to the start of the next round.
   */
  RANK_POLL_SECONDS: number(300, 60),
  /** Seconds without progress after which a synchronisation job fails permanently. */
  JOBS_GIVE_UP_SECONDS: number(DAY, 60),
};

export const readMembersConfig = (environment: Environment) => readConfig(membersVariables, environment);

export type MembersConfig = ReturnType<typeof readMembersConfig>;
