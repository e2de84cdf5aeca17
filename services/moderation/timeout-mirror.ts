import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { EventSweep } from '#kit/events/sweeper.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { QueueDefinition } from '#kit/queue/definition.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { GuildSettingsServiceService } from '#proto/gen/guild/members/v1/settings.ts';
import {
  ChangeTimeoutResponse_Outcome as Outcome,
  TimeoutServiceService,
} from '#proto/gen/guild/members/v1/timeouts.ts';
import type { ModerationConfig } from './config.ts';
import { mirrorQueue, TIMEOUT_QUEUE } from './domain/mirror-queue.ts';
import { SettingsPages } from './domain/settings-pages.ts';
import { timeoutSweeps } from './domain/timeouts/feed.ts';
import { MuteImports } from './domain/timeouts/imports.ts';
import { TimeoutMirror, type TimeoutSystems } from './domain/timeouts/timeout-mirror.ts';
import type { ModerationEvents } from './events.ts';
import { type LeasedTask, TIMEOUT_TASKS } from './store/mirror-tasks.ts';
import { storeTimeoutGuilds } from './store/timeout-guilds.ts';
import { type ModerationTelemetry, TimeoutTelemetry } from './telemetry.ts';

/** The deadline of calls to members, which wait there for the rate limits of the chat platform. */
const DEADLINE_MS = 12_000;
/** The players whom one process works on at the same time: of all guilds, and of one. */
const SIZES = { concurrency: 8, maxPerGuild: 2 };
const MUTED = 'Muted in the game';
const UNMUTED = 'Unmuted in the game';

export interface TimeoutMirrorPartsOptions {
  database: Database;
  events: ModerationEvents;
  telemetry: ModerationTelemetry;
  lookup: Pick<GrpcClient<typeof LookupServiceService>, 'getLinks'>;
  onChange: (guildId: string) => void;
  /** Called when players were queued. */
  wake: () => void;
}

/** Creates what mirrors mutes to timeouts on the chat platform and back, in guilds that want it. */
export function createTimeoutMirror(
  service: ServiceContext<ModerationConfig>,
  { database, events, telemetry: decisions, lookup, onChange, wake }: TimeoutMirrorPartsOptions,
): { queue: QueueDefinition; sweeps: EventSweep[] } {
  const { config, metrics, log } = service;
  const channel = service.channel('members', config.MEMBERS_GRPC_ADDRESS, {
    deadlineMs: DEADLINE_MS,
    dependency: 'timeouts',
  });
  const settingsClient = channel.methods(GuildSettingsServiceService, ['listTimeoutGuilds']);
  const timeouts = channel.methods(TimeoutServiceService, ['listTimeoutChanges', 'getTimeout', 'changeTimeout']);
  const registry = new SettingsPages({
    database,
    table: 'moderation.timeout_guilds',
    list: async (afterGuildId, limit) =>
      (await settingsClient.listTimeoutGuilds({ afterGuildId, limit })).guildIds.map((guildId) => ({ guildId })),
    store: (transaction, { guilds, ...range }) =>
      storeTimeoutGuilds(transaction, { ...range, guildIds: guilds.map(({ guildId }) => guildId) }),
    now: () => performance.now(),
    everyMs: config.MIRROR_SETTINGS_SECONDS * 1_000,
  });
  const systems: TimeoutSystems = {
    async chatIdOf(guildId, gameId) {
      const { links } = await lookup.getLinks({ guildId, chatIds: [], gameIds: [gameId] });
      return links[0]?.chatId;
    },
    async timeoutOf(guildId, chatId) {
      const { isMember, untilMs = 0 } = await timeouts.getTimeout({ guildId, chatId });
      return isMember ? untilMs : undefined;
    },
    async change(guildId, chatId, until) {
      const change = until === 0 ? { reason: UNMUTED } : { reason: MUTED, untilMs: Math.floor(until) };
      const { outcome } = await timeouts.changeTimeout({ guildId, chatId, ...change });
      if (outcome === Outcome.OUTCOME_DONE) return 'done';
      return outcome === Outcome.OUTCOME_NO_SUCH_MEMBER ? 'no_member' : 'not_permitted';
    },
  };
  const imports = new MuteImports({ database, events, telemetry: decisions, onChange });
  const telemetry = new TimeoutTelemetry(metrics, log);
  const mirror = new TimeoutMirror({ database, systems, imports, telemetry });
  const sweeps = timeoutSweeps({
    database,
    newHolder: randomUUID,
    list: (after, limit, guildId = '') => timeouts.listTimeoutChanges({ after, limit, guildId }),
    gameIdsOf: async (guildId, chatIds) =>
      (await lookup.getLinks({ guildId, chatIds: [...chatIds], gameIds: [] })).links.map(({ gameId }) => gameId),
    wake,
  });
  const follow = (task: LeasedTask) => mirror.follow(task);
  const queue = mirrorQueue({ name: TIMEOUT_QUEUE, tasks: TIMEOUT_TASKS, ...SIZES, follow, wake });
  return { queue, sweeps: [registry.sweep, ...sweeps] };
}
