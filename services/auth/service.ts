import { randomBytes } from 'node:crypto';
import { createEventQueue } from '#kit/events/event-queue.ts';
import { EventSweeper } from '#kit/events/sweeper.ts';
import { erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { Listener } from '#kit/postgres/listener.ts';
import { Retention, type RetentionRule } from '#kit/postgres/retention.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import { usageMethods } from '#kit/usage/usage-methods.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { AuthServiceService } from '#proto/gen/guild/auth/v1/auth.ts';
import { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { UsageServiceService } from '#proto/gen/guild/common/v1/usage.ts';
import { usageRoutes } from '#proto/rest/usage.ts';
import { type AuthConfig, readAuthConfig } from './config.ts';
import { AuditKeeper } from './domain/audit/keeper.ts';
import { decodeChange, recentChanges } from './domain/changes.ts';
import { expiringKeysSweep } from './domain/expiring.ts';
import { GuildAdmin } from './domain/guilds.ts';
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
import { AuthOperatorGuard } from './grpc/operator-guard.ts';
import { operatorHandlers } from './grpc/operators.ts';
import { readServiceUsage } from './grpc/service-usage.ts';
import { usageHandlers } from './http/usage.ts';
import { CHANGES_CHANNEL } from './store/keys.ts';
import { MINUTES_SECONDS } from './store/requests.ts';
import { AuthTelemetry } from './telemetry.ts';

/**
 * The deadline of the calls that read what a guild uses of another service: longer than a service waits for its database and
 * for a count in the background.
 */
const USAGE_DEADLINE_MS = 3_000;
/** Short, so that a request for usage fails fast while a service is down. */
const USAGE_CONNECT_MS = 500;

export const authService: ServiceDefinition<AuthConfig> = {
  name: 'auth',
  readConfig: readAuthConfig,
  build(service) {
    const { config, metrics, log, lifecycle, clock, ring } = service;
    const database = service.database(config);
    const telemetry = new AuthTelemetry(metrics, log);
    const { recorder, worker, queueAdmin } = createEventQueue(service, database);
    const events = new KeyEvents(recorder);
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
    lifecycle.add(new EventSweeper([expiringKeysSweep({ database, clock, events, telemetry })], log));

    const grpc = service.serveGrpc(config);
    service.serveInternal(grpc, AuthServiceService, authHandlers({ database, clock, watchers, requests, telemetry }));
    const guard = new AuthOperatorGuard({ database, root: service.operators, authority });
    grpc.addForOperators(KeyAdminServiceService, keyAdminHandlers({ database, keys, guilds, ring, clock }), guard);
    grpc.addForOperators(
      OperatorAdminServiceService,
      operatorHandlers({ authority, operators, tickets: ring, clock: service.processClock }),
      guard,
    );
    const canEraseGuild = (guildId: string) => keys.mayBeDeleted(guildId);
    const erasure = erasureMethods({ database, rules: erasureRules, log, canEraseGuild });
    grpc.addForOperators(ErasureServiceService, erasure, guard);
    grpc.addForOperators(QueueAdminServiceService, queueAdmin, guard);
    const retentionSeconds = config.RETENTION_AUDIT_SECONDS;
    lifecycle.add(new AuditKeeper({ database, clock, ring, telemetry, retentionSeconds }));
    lifecycle.add(new Retention({ database, rules: retentionRules(config), clock, log }));
    const own = usageMethods({ database, rules: erasureRules, metrics, log });
    const usage = new Usage({
      requests,
      own: (guildId) => own.getUsage({ guildId }),
      others: usageClients(service).map(readServiceUsage),
    });
    service.serveHttp(config, usageRoutes, usageHandlers(usage));
  },
};

/** How long, in seconds, the last report of a gateway is remembered, so that a late repeat of it is not counted again. */
const REPORTERS_SECONDS = 7 * 24 * 3600;

/** Returns the age at which the rows of each table are deleted; the audit has rules of its own. */
export const retentionRules = (config: AuthConfig): RetentionRule[] => [
  { table: 'auth.request_minutes', column: 'minute', seconds: MINUTES_SECONDS },
  { table: 'auth.request_days', column: 'day', seconds: config.RETENTION_REQUESTS_SECONDS },
  { table: 'auth.request_reporters', column: 'reported_at', seconds: REPORTERS_SECONDS },
];

/** Creates the clients that read what a guild uses of each other service. */
function usageClients(service: ServiceContext<AuthConfig>) {
  const { config } = service;
  const limits = { deadlineMs: USAGE_DEADLINE_MS, connectMs: USAGE_CONNECT_MS, repeatable: ['getUsage'] } as const;
  const client = (name: string, address: string, dependency = name) =>
    service.client(UsageServiceService, name, address, { ...limits, dependency });
  return [
    client('lookup', config.LOOKUP_GRPC_ADDRESS),
    client('bindings', config.BINDINGS_GRPC_ADDRESS),
    client('members', config.MEMBERS_GRPC_ADDRESS),
    client('activity', config.ACTIVITY_GRPC_ADDRESS),
    client('moderation', config.MODERATION_GRPC_ADDRESS),
    // The channel has a name of its own, because the relay of events also has a channel to this service.
    client('events', config.EVENTS_GRPC_ADDRESS, 'events-usage'),
  ];
}
