import type { Database } from '#kit/postgres/pool.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import { SharedRedis } from '#platforms/budget/shared-redis.ts';
import { platformFetch } from '#platforms/http/fetch.ts';
import { RobloxMessages } from '#platforms/roblox/messages.ts';
import type { ActivityConfig } from './config.ts';
import { WakeUps } from './domain/wake-ups.ts';
import { WakeUpTelemetry } from './telemetry.ts';

/** Creates what wakes game servers. Returns undefined without a key of the game platform, which messages need. */
export function createWakeUps(service: ServiceContext<ActivityConfig>, database: Database): WakeUps | undefined {
  const { config, metrics, log, breakers, clock } = service;
  const fetch = platformFetch(config);
  const key = config.GAME_API_KEY;
  if (key === undefined) return undefined;
  const shared = new SharedRedis({ redis: service.redis(config), processes: config.CHAT_PROCESSES, breakers, log });
  const messages = new RobloxMessages({ config, key, shared, breakers, metrics, clock, fetch });
  const telemetry = new WakeUpTelemetry(metrics, log);
  return new WakeUps({ database, clock, messages, isWanted: async () => true, telemetry });
}
