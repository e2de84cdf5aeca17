import type { GrpcClient } from '#kit/grpc/client.ts';
import { GuildSettingsReader } from '#kit/guild-settings/reader.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import { SharedRedis } from '#platforms/budget/shared-redis.ts';
import { platformFetch } from '#platforms/http/fetch.ts';
import { RobloxMessages } from '#platforms/roblox/messages.ts';
import type { GuildSettingsServiceService } from '#proto/gen/guild/members/v1/settings.ts';
import type { ActivityConfig } from './config.ts';
import { WakeUps } from './domain/wake-ups.ts';
import { WakeUpTelemetry } from './telemetry.ts';

type SettingsClient = Pick<GrpcClient<typeof GuildSettingsServiceService>, 'getGuildSettings'>;

/** Creates what wakes game servers. Returns undefined without a key of the game platform, which messages need. */
export function createWakeUps(
  service: ServiceContext<ActivityConfig>,
  database: Database,
  members: SettingsClient,
): WakeUps | undefined {
  const { config, metrics, log, breakers, clock } = service;
  const fetch = platformFetch(config);
  const key = config.GAME_API_KEY;
  if (key === undefined) return undefined;
  const shared = new SharedRedis({ redis: service.redis(config), processes: config.CHAT_PROCESSES, breakers, log });
  const messages = new RobloxMessages({ config, key, shared, breakers, metrics, clock, fetch });
  const settings = new GuildSettingsReader({ clock, load: (guildId) => members.getGuildSettings({ guildId }) });
  const isWanted = async (guildId: string) => (await settings.of(guildId)).pushCommands;
  return new WakeUps({ database, clock, messages, isWanted, telemetry: new WakeUpTelemetry(metrics, log) });
}
