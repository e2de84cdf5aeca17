import { z } from 'zod';
import {
  databaseConfig,
  type Environment,
  eventsConfig,
  grpcAddress,
  grpcConfig,
  httpConfig,
  list,
  number,
  processConfig,
  queueConfig,
  readConfig,
} from '#kit/service/config.ts';
import { openCloudConfig, platformAccessConfig } from '#platforms/config.ts';

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
  ...openCloudConfig,
  ...platformAccessConfig,
  /** The address of the members service, which has the settings of guilds. */
  MEMBERS_GRPC_ADDRESS: grpcAddress(),
  /**
   * The universes of the game platform to which bans may be mirrored, if the settings of a guild name them:
   * `GUILD_ID:UNIVERSE_ID`, separated by commas, or `*` for all. Empty: bans are not mirrored. Needs GAME_API_KEY.
   */
  BAN_MIRROR_UNIVERSES: list(
    z.string().regex(/^(?:\*|[1-9][0-9]{16,19}:[1-9][0-9]{0,15})$/, {
      error: 'must be * or entries such as 900000000000000001:30001',
    }),
  ),
  /** Seconds between two readings of what was changed in a universe on the game platform. */
  BAN_MIRROR_POLL_SECONDS: number(30, 1, HOUR),
  /**
   * Seconds between two readings of the guilds' settings for mirroring bans and mutes, which is how long a changed
   * setting may take to have an effect.
   */
  MIRROR_SETTINGS_SECONDS: number(30, 1, HOUR),
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
  /** Seconds for which the mirror of a ban on the game platform is stored after its end. */
  RETENTION_RESTRICTIONS_SECONDS: number(7 * DAY, HOUR),
  /** Seconds for which a moderation decision stays in the outbox after its delivery. */
  RETENTION_OUTBOX_SECONDS: number(DAY, HOUR),
};

/** Reads the configuration of the moderation service. Throws a ConfigError that lists every fault. */
export const readModerationConfig = (environment: Environment) => readConfig(moderationVariables, environment);

export type ModerationConfig = ReturnType<typeof readModerationConfig>;
