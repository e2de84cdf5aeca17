import {
  databaseConfig,
  type Environment,
  eventsConfig,
  flag,
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
  /**
   * True if members connects to the chat platform's websocket, which keeps the mirror of guilds and members current. The
   * operator has to enable the intent GUILD_MEMBERS for the bot.
   */
  CHAT_GATEWAY_ENABLED: flag(false),
  /**
   * The number of shards of the websocket; with 0 the number of the last start, and at the first start what the platform
   * recommends. A shard has at most 2,500 guilds.
   */
  CHAT_GATEWAY_SHARDS: number(0, 0, 10_000),
  /** The maximum number of shards of one process. */
  CHAT_GATEWAY_MAX_SHARDS: number(64, 1, 10_000),
  /** Without the websocket: seconds for which the roles of a member are used again to read staff permissions. */
  CHAT_MIRROR_TTL_SECONDS: number(0, 0, HOUR),
  /** Seconds for which they are used after the websocket was lost, while the platform cannot be called in time. */
  CHAT_MIRROR_MAX_OLD_SECONDS: number(HOUR, 0, DAY),
  /** Seconds for which mirrored guilds and members are stored after they were last used. */
  RETENTION_MIRROR_SECONDS: number(30 * DAY, DAY),
  LOOKUP_GRPC_ADDRESS: grpcAddress(),
  BINDINGS_GRPC_ADDRESS: grpcAddress(),
  /** Seconds for which responses to writes with an Idempotency-Key are stored, to repeat them. */
  RETENTION_IDEMPOTENCY_SECONDS: number(DAY, HOUR),
  /** Seconds for which verification tokens are stored after they have expired. */
  RETENTION_TOKENS_SECONDS: number(DAY, HOUR),
  /** Seconds for which finished link changes are stored. */
  RETENTION_INTENTS_SECONDS: number(DAY, HOUR),
  /**
   * Seconds for which unfinished role tasks (role updates of single members) are stored, including dead letters. A
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

export const readMembersConfig = (environment: Environment) => readConfig(membersVariables, environment, faultsOfProxy);

function faultsOfProxy({ CHAT_GATEWAY_ENABLED: enabled, PLATFORMS_PROXY: proxy }: Environment): string[] {
  if (enabled !== 'true' || proxy === undefined) return [];
  return ['CHAT_GATEWAY_ENABLED cannot be used with PLATFORMS_PROXY: websockets are not proxied'];
}

export type MembersConfig = ReturnType<typeof readMembersConfig>;
