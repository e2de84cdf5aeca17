import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { EventSweep } from '#kit/events/sweeper.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import type { QueueDefinition } from '#kit/queue/definition.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import { SharedRedis } from '#platforms/budget/shared-redis.ts';
import { platformFetch } from '#platforms/http/fetch.ts';
import { openRestrictions } from '#platforms/roblox/restriction-host.ts';
import { GuildSettingsServiceService } from '#proto/gen/guild/members/v1/settings.ts';
import type { ModerationConfig } from './config.ts';
import { mirrorQueue, RESTRICTION_QUEUE } from './domain/mirror-queue.ts';
import { BanMirror } from './domain/restrictions/ban-mirror.ts';
import { BanImports } from './domain/restrictions/imports.ts';
import { mirrorRegistry } from './domain/restrictions/mirror-registry.ts';
import { Reconciliation } from './domain/restrictions/reconciliation.ts';
import { UniverseChecks } from './domain/restrictions/universe-checks.ts';
import type { ModerationEvents } from './events.ts';
import { RESTRICTION_TASKS } from './store/mirror-tasks.ts';
import { MirrorTelemetry, type ModerationTelemetry } from './telemetry.ts';

/** The universes that one process reads at the same time; comparing all bans of one may take minutes. */
const CONCURRENT_UNIVERSES = 4;
/** The players whom one process works on at the same time: of all guilds, and of one. */
const SIZES = { concurrency: 16, maxPerGuild: 4 };

export interface BanMirrorOptions {
  database: Database;
  events: ModerationEvents;
  telemetry: ModerationTelemetry;
  onChange: (guildId: string) => void;
  /** Called when players were queued. */
  wake: () => void;
}

/** The parts of the service that mirror bans. */
export interface BanMirrorParts {
  queue: QueueDefinition;
  sweeps: EventSweep[];
  /** Ends what the sweeps do. */
  stop(): void;
  /** Queues a player in the transaction of a decision. */
  mirror: (transaction: Queryable, guildId: string, gameId: number) => Promise<void>;
}

/**
 * Creates what mirrors bans to the restrictions of the game platform and back. Returns undefined if no universe is
 * allowed, or without a key of the game platform.
 */
export function createBanMirror(
  service: ServiceContext<ModerationConfig>,
  { database, events, telemetry: decisions, onChange, wake }: BanMirrorOptions,
): BanMirrorParts | undefined {
  const { config, metrics, log, breakers, clock } = service;
  const fetch = platformFetch(config);
  const { GAME_API_KEY: key, BAN_MIRROR_UNIVERSES: allowed } = config;
  if (key === undefined || allowed.length === 0) return undefined;
  const shared = new SharedRedis({ redis: service.redis(config), processes: config.CHAT_PROCESSES, breakers, log });
  const restrictions = openRestrictions({ config, key, shared, breakers, metrics, clock, fetch });
  const telemetry = new MirrorTelemetry(metrics, log);
  const imports = new BanImports({ database, events, telemetry: decisions, onChange });
  const mirror = new BanMirror({ database, restrictions, imports, newId: randomUUID, telemetry });
  const reconciliation = new Reconciliation({ database, restrictions, events, wake });
  const pollSeconds = config.BAN_MIRROR_POLL_SECONDS;
  const checks = new UniverseChecks({ database, restrictions, reconciliation, telemetry, pollSeconds, wake });
  const settings = service.client(GuildSettingsServiceService, 'members', config.MEMBERS_GRPC_ADDRESS, {
    repeatable: ['listMirroringGuilds'],
  });
  const registry = mirrorRegistry({
    database,
    list: async (afterGuildId, limit) => (await settings.listMirroringGuilds({ afterGuildId, limit })).guilds,
    allowed,
    now: () => performance.now(),
    everyMs: config.MIRROR_SETTINGS_SECONDS * 1_000,
    telemetry,
  });
  return {
    queue: mirrorQueue({
      name: RESTRICTION_QUEUE,
      tasks: RESTRICTION_TASKS,
      ...SIZES,
      follow: (task, signal) => mirror.follow(task, signal),
      wake,
    }),
    sweeps: [registry.sweep, ...Array.from({ length: CONCURRENT_UNIVERSES }, () => checks.sweep)],
    stop: () => checks.stop(),
    mirror: (transaction, guildId, gameId) => RESTRICTION_TASKS.queue(transaction, guildId, [gameId]),
  };
}
