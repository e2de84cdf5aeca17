import type { Database } from '#kit/postgres/pool.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Discord } from '#platforms/discord/discord.ts';
import type { MembersConfig } from '../config.ts';
import type { OnMemberChanges } from '../domain/member-changes.ts';
import { findGuild } from '../store/mirror-reads.ts';
import { MirrorTelemetry } from '../telemetry/mirror.ts';
import { ChatGateway } from './chat-gateway.ts';
import { MirrorWriter } from './mirror-writer.ts';
import { MirroredChat } from './mirrored-chat.ts';

interface MirrorParts {
  database: Database;
  discord: Discord;
  metrics: Metrics;
  log: Logger;
}

/** The mirror of guilds and members of the chat platform: what reads it, and what keeps it current. */
export class Mirror {
  /** The chat platform with the mirror. */
  readonly chat: MirroredChat;
  readonly #config: MembersConfig;
  readonly #parts: Pick<MirrorParts, 'database' | 'discord'>;
  readonly #telemetry: MirrorTelemetry;

  constructor(config: MembersConfig, { database, discord, metrics, log }: MirrorParts) {
    this.#config = config;
    this.#parts = { database, discord };
    this.#telemetry = new MirrorTelemetry(metrics, log);
    this.chat = new MirroredChat({
      chat: discord,
      database,
      telemetry: this.#telemetry,
      hasGateway: config.CHAT_GATEWAY_ENABLED,
      ttlSeconds: config.CHAT_MIRROR_TTL_SECONDS,
      maxOldSeconds: config.CHAT_MIRROR_MAX_OLD_SECONDS,
    });
  }

  /** Returns whether the websocket reports the changes of a guild now; undefined if the configuration has no websocket. */
  get isWatched(): ((guildId: string) => Promise<boolean>) | undefined {
    if (!this.#config.CHAT_GATEWAY_ENABLED) return undefined;
    return async (guildId) => (await findGuild(this.#parts.database, guildId, 0))?.isLive ?? false;
  }

  /**
   * Creates the connection to the chat platform's websocket, if the configuration has one. Each function of `onChanges` is
   * called with the changes of members that the platform reports.
   */
  gateway(onChanges: readonly OnMemberChanges[]): ChatGateway | undefined {
    const config = this.#config;
    if (!config.CHAT_GATEWAY_ENABLED) return undefined;
    const { database, discord } = this.#parts;
    const telemetry = this.#telemetry;
    return new ChatGateway({
      database,
      telemetry,
      writer: new MirrorWriter({ onChanges, telemetry }),
      readInfo: () => discord.gatewayInfo(),
      token: config.CHAT_BOT_TOKEN,
      shards: config.CHAT_GATEWAY_SHARDS,
      maxShards: config.CHAT_GATEWAY_MAX_SHARDS,
    });
  }
}
