import { randomBytes } from 'node:crypto';
import { eventRelayOf } from '#kit/events/event-queue.ts';
import { EventRecorder } from '#kit/events/recorder.ts';
import { EVENTS_QUEUE } from '#kit/events/relay.ts';
import { EventSweeper } from '#kit/events/sweeper.ts';
import type { GrpcChannel } from '#kit/grpc/client.ts';
import { erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { Listener } from '#kit/postgres/notifications/listener.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { Retention, type RetentionRule } from '#kit/postgres/retention.ts';
import { queueAdminMethods } from '#kit/queue/admin.ts';
import { type ItemKey, NO_LIMITS } from '#kit/queue/definition.ts';
import { QueueWorker } from '#kit/queue/worker.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import { usageMethods } from '#kit/usage/usage-methods.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { AuthServiceService } from '#proto/gen/guild/auth/v1/auth.ts';
import { ConsoleAdminServiceService, ConsoleServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { GuildDoctorServiceService } from '#proto/gen/guild/auth/v1/doctor.ts';
import { InteractionServiceService } from '#proto/gen/guild/auth/v1/interactions.ts';
import { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { GuildStateServiceService } from '#proto/gen/guild/common/v1/guild_state.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { UsageServiceService } from '#proto/gen/guild/common/v1/usage.ts';
import { AuditFeedServiceService } from '#proto/gen/guild/events/v1/events.ts';
import type { PROCESSES } from '#proto/processes.ts';
import { COUNTING_SERVICES, guildStateRoutes } from '#proto/rest/guild-state.ts';
import { usageRoutes } from '#proto/rest/usage.ts';
import { type AuthConfig, readAuthConfig } from './config.ts';
import { buildConsole } from './console.ts';
import { AuditFeed } from './domain/audit/feed.ts';
import { AuditKeeper } from './domain/audit/keeper.ts';
import { decodeChange, recentChanges } from './domain/changes.ts';
import { LIFETIME_MS } from './domain/console/sessions.ts';
import { expiringKeysSweep } from './domain/expiring.ts';
import { CHECKING_SERVICES, GuildState } from './domain/guild-state.ts';
import { GuildAdmin } from './domain/guilds.ts';
import { INTERACTION_QUEUE } from './domain/interactions/interactions.ts';
import { KeyAdmin } from './domain/keys.ts';
import { Authority } from './domain/operators/authority.ts';
import { Operators } from './domain/operators/operators.ts';
import { Requests } from './domain/requests.ts';
import { Usage } from './domain/usage.ts';
import { Watchers } from './domain/watchers.ts';
import { erasureRules } from './erasure.ts';
import { KeyEvents } from './events.ts';
import { keyAdminHandlers } from './grpc/admin.ts';
import { authHandlers } from './grpc/auth.ts';
import { consoleAdminHandlers, consoleHandlers } from './grpc/console.ts';
import { doctorMethods } from './grpc/doctor.ts';
import { interactionMethods } from './grpc/interactions.ts';
import { AuthOperatorGuard } from './grpc/operator-guard.ts';
import { operatorHandlers } from './grpc/operators.ts';
import { readServiceState } from './grpc/service-state.ts';
import { readServiceUsage } from './grpc/service-usage.ts';
import { guildStateHandlers } from './http/guild-state.ts';
import { usageHandlers } from './http/usage.ts';
import { buildInteractions } from './interactions.ts';
import { CHANGES_CHANNEL } from './store/keys.ts';
import { MINUTES_SECONDS } from './store/requests.ts';
import { AuthTelemetry } from './telemetry.ts';

/**
 * The deadline of the calls that read what another service knows of a guild: longer than a service waits for its database,
 * for a count in the background and for a platform.
 */
const READ_DEADLINE_MS = 3_000;
/** Below the deadline, so that a request for usage fails fast while a service is down; enough for a replica to be replaced on a busy machine. */
const READ_CONNECT_MS = 1_500;
/** Short, because the feed retries, and because a process that drains waits for its calls. */
const AUDIT_CONNECT_MS = 500;

export const authService: ServiceDefinition<AuthConfig> = {
  name: 'auth',
  readConfig: readAuthConfig,
  caFiles: ['PLATFORMS_CA_FILE'],
  build(service) {
    const { config, metrics, log, lifecycle, clock, ring } = service;
    const database = service.database(config);
    const telemetry = new AuthTelemetry(metrics, log);
    const events = new KeyEvents(new EventRecorder({ schema: 'auth', wake: () => worker.wake(EVENTS_QUEUE) }));
    const begin = (item: ItemKey) => worker.begin(INTERACTION_QUEUE, item);
    const interactions = buildInteractions(service, { database, begin });
    const queues = [eventRelayOf(service, database), interactions.definition];
    const worker = new QueueWorker(queues, { database, limits: NO_LIMITS, metrics, log });
    const queueAdmin = queueAdminMethods({ database, definitions: queues, log, wake: () => worker.wake() });
    const keys = new KeyAdmin({ database, clock, random: randomBytes, telemetry, events });
    const guilds = new GuildAdmin({ database, clock, telemetry });
    const operators = new Operators({ database, clock, telemetry });
    const authority = new Authority({ database, clock, telemetry });

    const requests = new Requests({ database, clock, telemetry });

    const watchers = new Watchers({
      readRecentChanges: () => recentChanges(database, clock.now()),
      isReceivingNotifications: () => listener.isReceiving,
      telemetry,
    });
    const listener = new Listener({
      url: config.DATABASE_DIRECT_URL ?? config.DATABASE_URL,
      name: service.name,
      channel: CHANGES_CHANNEL,
      metrics,
      log,
      onNotification: (payload) => {
        const change = decodeChange(payload);
        if (change) watchers.sendChange(change);
        else void watchers.rereadRecentChanges();
      },
      onListening: () => watchers.sendRecentChanges(),
      onVerified: () => watchers.sendBeat(),
    });
    lifecycle.add(listener);
    lifecycle.add(watchers);
    lifecycle.add(worker);
    const sweeps = [expiringKeysSweep({ database, clock, events, telemetry })];
    lifecycle.add(new EventSweeper({ sweeps, leases: service.leases, log }));

    const grpc = service.serveGrpc(config);
    const callers = (name: string) => ({ ring, names: new Set([name]) });
    grpc.add(AuthServiceService, authHandlers({ database, clock, watchers, requests, telemetry }), callers('gateway'));
    grpc.add(InteractionServiceService, interactionMethods(interactions), callers('gateway'));
    const guard = new AuthOperatorGuard({ database, root: service.operators, authority });
    grpc.addForOperators(KeyAdminServiceService, keyAdminHandlers({ database, keys, guilds, ring, clock }), guard);
    grpc.addForOperators(
      OperatorAdminServiceService,
      operatorHandlers({ authority, operators, tickets: ring, clock: service.processClock }),
      guard,
    );
    const canEraseGuild = (guildId: string) => keys.mayBeDeleted(guildId);
    const erasure = (on: Database) => erasureMethods({ database: on, rules: erasureRules, log, canEraseGuild });
    grpc.addForOperators(ErasureServiceService, erasure(database), guard);
    const consoleParts = buildConsole(service, { database, events, telemetry, own: erasure });
    grpc.add(ConsoleServiceService, consoleHandlers(consoleParts), callers('console'));
    grpc.addForOperators(ConsoleAdminServiceService, consoleAdminHandlers(consoleParts.links), guard);
    grpc.addForOperators(QueueAdminServiceService, queueAdmin, guard);
    const retentionSeconds = config.RETENTION_AUDIT_SECONDS;
    lifecycle.add(
      new AuditKeeper({ database, clock, ring, telemetry, retentionSeconds, lease: service.leases.of('audit keeper') }),
    );
    const { takeEntries: take, deleteEntries: remove } = service.client(
      AuditFeedServiceService,
      'events',
      config.EVENTS_GRPC_ADDRESS,
      // The channel has a name of its own, because the relay of events also has a channel to this service.
      { repeatable: ['takeEntries', 'deleteEntries'], dependency: 'events-audit', connectMs: AUDIT_CONNECT_MS },
    );
    lifecycle.add(new AuditFeed({ database, take, remove, telemetry }));
    lifecycle.add(
      new Retention({ database, rules: retentionRules(config), clock, log, lease: service.leases.of('retention') }),
    );
    const own = usageMethods({ database, rules: erasureRules, metrics, log });
    const channels = serviceChannels(service);
    const usage = new Usage({
      requests,
      own: (guildId) => own.getUsage({ guildId }),
      others: Object.values(channels).map((channel) =>
        readServiceUsage(channel.methods(UsageServiceService, ['getUsage'])),
      ),
    });
    const part = <Name extends ServiceName>(name: Name) =>
      readServiceState(name, channels[name].methods(GuildStateServiceService, ['getCounts', 'getChecks']));
    const checking = CHECKING_SERVICES.map(part);
    const state = new GuildState({ database, clock, telemetry, checking, counting: COUNTING_SERVICES.map(part) });
    grpc.addForOperators(GuildDoctorServiceService, doctorMethods(state), guard);
    const handlers = { ...usageHandlers(usage), ...guildStateHandlers(state) };
    service.serveHttp(config, { ...usageRoutes, ...guildStateRoutes }, handlers);
  },
};

/** How long, in seconds, the last report of a gateway is remembered, so that a late repeat of it is not counted again. */
const REPORTERS_SECONDS = 7 * 24 * 3600;

/** Longer than the ten minutes in which the signature of an interaction is accepted. */
const INTERACTIONS_SECONDS = 24 * 3600;

/** Returns the age at which the rows of each table are deleted; the audit has rules of its own. */
export const retentionRules = (config: AuthConfig): RetentionRule[] => [
  { table: 'auth.request_minutes', column: 'minute', seconds: MINUTES_SECONDS },
  { table: 'auth.request_days', column: 'day', seconds: config.RETENTION_REQUESTS_SECONDS },
  { table: 'auth.request_reporters', column: 'reported_at', seconds: REPORTERS_SECONDS, hasGuild: false },
  { table: 'auth.sessions', column: 'created_at', seconds: LIFETIME_MS / 1000, hasGuild: false },
  { table: 'auth.interactions', column: 'queued_at', seconds: INTERACTIONS_SECONDS },
  { table: 'auth.sign_in_links', column: 'expires_at', seconds: 0 },
  { table: 'auth.sign_ins', column: 'expires_at', seconds: 0, hasGuild: false },
];

type ServiceName = (typeof PROCESSES.auth.calls)[number];

/** Creates the channels over which auth reads what the other services know of a guild. */
function serviceChannels(service: ServiceContext<AuthConfig>): Record<ServiceName, GrpcChannel> {
  const { config } = service;
  const limits = { deadlineMs: READ_DEADLINE_MS, connectMs: READ_CONNECT_MS };
  const channel = (name: string, address: string, dependency = name) =>
    service.channel(name, address, { ...limits, dependency });
  return {
    lookup: channel('lookup', config.LOOKUP_GRPC_ADDRESS),
    bindings: channel('bindings', config.BINDINGS_GRPC_ADDRESS),
    members: channel('members', config.MEMBERS_GRPC_ADDRESS),
    activity: channel('activity', config.ACTIVITY_GRPC_ADDRESS),
    moderation: channel('moderation', config.MODERATION_GRPC_ADDRESS),
    // The channel has a name of its own, because the relay of events also has a channel to this service.
    events: channel('events', config.EVENTS_GRPC_ADDRESS, 'events-usage'),
  };
}
