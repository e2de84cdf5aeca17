import { randomBytes } from 'node:crypto';
import { createEventQueue } from '#kit/events/event-queue.ts';
import { EventSweeper } from '#kit/events/sweeper.ts';
import { erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { Listener } from '#kit/postgres/listener.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { AuthServiceService } from '#proto/gen/guild/auth/v1/auth.ts';
import { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { type AuthConfig, readAuthConfig } from './config.ts';
import { AuditKeeper } from './domain/audit/keeper.ts';
import { decodeChange, recentChanges } from './domain/changes.ts';
import { expiringKeysSweep } from './domain/expiring.ts';
import { GuildAdmin } from './domain/guilds.ts';
import { KeyAdmin } from './domain/keys.ts';
import { Authority } from './domain/operators/authority.ts';
import { Operators } from './domain/operators/operators.ts';
import { Watchers } from './domain/watchers.ts';
import { erasureRules } from './erasure.ts';
import { KeyEvents } from './events.ts';
import { keyAdminHandlers } from './grpc/admin.ts';
import { authHandlers } from './grpc/auth.ts';
import { AuthOperatorGuard } from './grpc/operator-guard.ts';
import { operatorHandlers } from './grpc/operators.ts';
import { CHANGES_CHANNEL } from './store/keys.ts';
import { AuthTelemetry } from './telemetry.ts';

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
    service.serveInternal(grpc, AuthServiceService, authHandlers({ database, clock, watchers, telemetry }));
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
  },
};
