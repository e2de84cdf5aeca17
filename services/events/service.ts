import { randomUUID } from 'node:crypto';
import { type EventSweep, EventSweeper } from '#kit/events/sweeper.ts';
import { guildStateMethods } from '#kit/guild-state/state-methods.ts';
import { Retention, type RetentionRule } from '#kit/postgres/retention.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import { usageMethods } from '#kit/usage/usage-methods.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { GuildStateServiceService } from '#proto/gen/guild/common/v1/guild_state.ts';
import { UsageServiceService } from '#proto/gen/guild/common/v1/usage.ts';
import { EventAdminServiceService, WebhookAdminServiceService } from '#proto/gen/guild/events/v1/admin.ts';
import { AuditFeedServiceService, EventLogServiceService } from '#proto/gen/guild/events/v1/events.ts';
import { eventStreamRoutes, eventsRoutes } from '#proto/rest/events.ts';
import { webhooksRoutesWith } from '#proto/rest/webhooks.ts';
import { type EventsConfig, readEventsConfig } from './config.ts';
import { urlRules } from './delivery/sender.ts';
import { urlFaults } from './delivery/url-rules.ts';
import { webhookHook } from './domain/append-hook.ts';
import type { Disabling } from './domain/disabling.ts';
import { ErasedPersons } from './domain/erased-persons.ts';
import { GuildState } from './domain/guild-state.ts';
import { EventLog } from './domain/log.ts';
import { forgetDays, Partitions } from './domain/partitions.ts';
import { Polls } from './domain/polls.ts';
import { Streams } from './domain/streams.ts';
import { Wakeups } from './domain/wakeups.ts';
import { erasureRules } from './erasure.ts';
import { auditFeedMethods } from './grpc/audit-feed.ts';
import { eventsErasureMethods } from './grpc/erasure.ts';
import { eventAdminMethods } from './grpc/event-admin.ts';
import { eventLogMethods } from './grpc/event-log.ts';
import { webhookMethods } from './grpc/webhooks.ts';
import { eventsHandlers } from './http/events.ts';
import { streamHandlers } from './http/stream.ts';
import { webhooksHandlers } from './http/webhooks.ts';
import { closeAuditDays, readAuditBacklog } from './store/audit-entries.ts';
import { DELIVERY_DAYS } from './store/deliveries.ts';
import { readNewestSeqs } from './store/log.ts';
import { EventsTelemetry } from './telemetry/log.ts';
import { buildWebhooks } from './webhooks.ts';

/** The channel that carries the IDs of guilds that have new events. */
const EVENTS_CHANNEL = 'events_log';
const DAY_SECONDS = 24 * 3600;

/** Defines the events service: the log of what happened in each guild, and its readers. */
export const eventsService: ServiceDefinition<EventsConfig> = {
  name: 'events',
  readConfig: readEventsConfig,
  caFiles: ['WEBHOOKS_CA_FILE', 'REDIS_TLS_CA_FILE'],
  build(service) {
    const { config, metrics, log, lifecycle } = service;
    const database = service.database(config);
    const { clock } = service;
    const telemetry = new EventsTelemetry(metrics, log);
    const wakeups = new Wakeups();
    // Announcements carry the name of this process, so that it can ignore its own.
    const process = randomUUID();
    const feed = service.changeFeed(config, {
      database,
      channel: EVENTS_CHANNEL,
      onChanges: (names) => {
        const others = namesOfOthers(names, process);
        wakeups.wake(others.flatMap(({ guildId, streamId }) => (streamId === undefined ? [guildId] : [])));
        for (const { guildId, streamId } of others) if (streamId) streams.endReplaced(guildId, streamId);
      },
      onMissed: () => wakeups.wake(),
    });
    const appended = (guildIds: readonly string[]) => {
      wakeups.wake(guildIds);
      for (const guildId of guildIds) feed.announce(`${process}/${guildId}`);
    };
    // The log calls the hook in its transactions, and the disabling appends events to the log.
    let disabling: Disabling;
    const eventLog = new EventLog({ database, telemetry, appended, hooks: [webhookHook(() => disabling)] });
    const polls = new Polls({
      log: eventLog,
      wakeups,
      newestSeqs: (guildIds) => readNewestSeqs(database, guildIds),
      maxWaiting: config.MAX_WAITING_POLLS,
    });
    const streams = new Streams({
      log: eventLog,
      database,
      wakeups,
      telemetry,
      lostElsewhere: (guildId, streamId) => feed.announce(`${process}/${guildId}/${streamId}`),
      maxStreams: config.MAX_EVENT_STREAMS,
    });
    metrics.gauge('events_open_streams', 'Open streams of events of this process', [], (gauge) =>
      gauge.set(streams.size),
    );
    metrics.gauge('events_waiting_polls', 'Requests that wait in this process for events', [], (gauge) =>
      gauge.set(polls.size),
    );
    metrics
      .gauge('events_waiting_polls_max', 'The maximum number of requests that wait in this process for events')
      .set(config.MAX_WAITING_POLLS);

    lifecycle.add(
      new Partitions({
        database,
        tables: [
          { name: 'log', seconds: config.RETENTION_EVENTS_SECONDS, beforeDrop: forgetDays },
          { name: 'deliveries', seconds: DELIVERY_DAYS * 24 * 3600 },
        ],
        telemetry,
        lease: service.leases.of('partitions'),
      }),
    );
    lifecycle.add(polls);
    lifecycle.add(streams);
    lifecycle.add(
      new Retention({ database, rules: retentionRules(config), clock, log, lease: service.leases.of('retention') }),
    );
    const sweeps: EventSweep[] = [
      { name: 'days of the audit', sweep: async () => (await closeAuditDays(database)) > 0 },
      {
        name: 'backlog of the audit',
        sweep: async () => {
          telemetry.auditBacklog(await readAuditBacklog(database));
          return false;
        },
        // Each replica exports the backlog.
        isShared: true,
      },
    ];
    lifecycle.add(new EventSweeper({ sweeps, leases: service.leases, log }));
    const webhooks = buildWebhooks(service, { database, eventLog, wakeups });
    ({ disabling } = webhooks);

    const grpc = service.serveGrpc(config);
    service.serveInternal(grpc, EventLogServiceService, eventLogMethods(eventLog));
    grpc.add(AuditFeedServiceService, auditFeedMethods(database), { ring: service.ring, names: new Set(['auth']) });
    service.serveOperators(grpc, WebhookAdminServiceService, webhookMethods({ database, ...webhooks }));
    service.serveOperators(grpc, EventAdminServiceService, eventAdminMethods(eventLog));
    const erasedPersons = new ErasedPersons({ database, log: eventLog });
    const erasure = eventsErasureMethods({ database, rules: erasureRules, log }, erasedPersons);
    service.serveOperators(grpc, ErasureServiceService, erasure);
    const quotas = async (guildId: string) => [await webhooks.webhooks.quota(guildId)];
    service.serveInternal(
      grpc,
      UsageServiceService,
      usageMethods({ database, rules: erasureRules, metrics, log, quotas }),
    );
    const { counts, checks } = new GuildState(database);
    service.serveInternal(grpc, GuildStateServiceService, guildStateMethods({ clock, counts, checks }));
    const rules = urlRules(config);
    const webhookRoutes = webhooksRoutesWith((url) => urlFaults(url, rules));
    service.serveHttp(
      config,
      { ...eventsRoutes, ...eventStreamRoutes, ...webhookRoutes },
      { ...eventsHandlers(polls), ...streamHandlers(streams), ...webhooksHandlers(webhooks.webhooks) },
    );
  },
};

/** The age in seconds, counted from a time column, at which the rows of each table are deleted. */
export const retentionRules = (config: EventsConfig): RetentionRule[] => [
  { table: 'events.idempotency', column: 'created_at', seconds: config.RETENTION_IDEMPOTENCY_SECONDS },
  { table: 'events.revoked_keys', column: 'revoked_at', seconds: DAY_SECONDS },
];

/**
 * Returns the guilds for which other processes have stored events, and the streams of guilds with too many streams that
 * other processes have found.
 */
function namesOfOthers(
  announced: readonly string[],
  process: string,
): { guildId: string; streamId: string | undefined }[] {
  const names = announced.map((name) => name.split('/'));
  return names.flatMap(([sender, guildId = '', streamId]) => (sender === process ? [] : [{ guildId, streamId }]));
}
