import { randomUUID } from 'node:crypto';
import type { EventSweep } from '#kit/events/sweeper.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { GuildSettingsReader } from '#kit/guild-settings/reader.ts';
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
import { timeoutSweeps } from './domain/timeouts/feed.ts';
import { MuteImports } from './domain/timeouts/imports.ts';
import { timeoutQueue } from './domain/timeouts/task-queue.ts';
import { TimeoutMirror, type TimeoutSystems } from './domain/timeouts/timeout-mirror.ts';
import type { ModerationEvents } from './events.ts';
import { type ModerationTelemetry, TimeoutTelemetry } from './telemetry.ts';

/** The deadline of calls to members, which wait there for the rate limits of the chat platform. */
const DEADLINE_MS = 12_000;
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
  const { config, metrics, log, clock } = service;
  const channel = service.channel('members', config.MEMBERS_GRPC_ADDRESS, {
    deadlineMs: DEADLINE_MS,
    dependency: 'timeouts',
  });
  const settingsClient = channel.methods(GuildSettingsServiceService, ['getGuildSettings']);
  const timeouts = channel.methods(TimeoutServiceService, ['listTimeoutChanges', 'getTimeout', 'changeTimeout']);
  const settings = new GuildSettingsReader({ clock, load: (guildId) => settingsClient.getGuildSettings({ guildId }) });
  const isWanted = async (guildId: string) => (await settings.of(guildId)).mirrorTimeouts;
  const systems: TimeoutSystems = {
    isWanted,
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
    list: (after, limit) => timeouts.listTimeoutChanges({ after, limit }),
    isWanted,
    gameIdsOf: async (guildId, chatIds) =>
      (await lookup.getLinks({ guildId, chatIds: [...chatIds], gameIds: [] })).links.map(({ gameId }) => gameId),
    wake,
  });
  return { queue: timeoutQueue(mirror, wake), sweeps };
}
