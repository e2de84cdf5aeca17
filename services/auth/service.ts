import { randomBytes } from 'node:crypto';
import { erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { Listener } from '#kit/postgres/listener.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { AuthServiceService } from '#proto/gen/guild/auth/v1/auth.ts';
import { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { type AuthConfig, readAuthConfig } from './config.ts';
import { AuditKeeper } from './domain/audit/keeper.ts';
import { decodeChange, recentChanges } from './domain/changes.ts';
import { GuildAdmin } from './domain/guilds.ts';
import { KeyAdmin } from './domain/keys.ts';
import { Authority } from './domain/operators/guard.ts';
import { Operators } from './domain/operators/operators.ts';
import { Watchers } from './domain/watchers.ts';
import { erasureRules } from './erasure.ts';
import { keyAdminHandlers } from './grpc/admin.ts';
import { authHandlers } from './grpc/auth.ts';
import { operatorHandlers } from './grpc/operators.ts';
import { CHANGES_CHANNEL } from './store/keys.ts';
import { AuthEvents } from './telemetry.ts';

export const authService: ServiceDefinition<AuthConfig> = {
  name: 'auth',
  readConfig: readAuthConfig,
  build(service) {
    const { config, metrics, log, lifecycle } = service;
    const database = service.database(config);
    const { clock } = service;
    const events = new AuthEvents(metrics, log);
    const keys = new KeyAdmin({ database, clock, random: randomBytes, events });

    const watchers = new Watchers({
      recent: () => recentChanges(database, clock.now()),
      isHearing: () => listener.isHearing,
      events,
    });
    const listener = new Listener({
      url: config.DATABASE_DIRECT_URL ?? config.DATABASE_URL,
      name: service.name,
      channel: CHANGES_CHANNEL,
      metrics,
      log,
      onNotification: (payload) => {
        const change = decodeChange(payload);
        if (change) watchers.tell(change);
        else void watchers.lookAgain();
      },
      onListening: () => watchers.tellRecent(),
      onProof: () => watchers.beat(),
    });
    lifecycle.add(listener);
    lifecycle.add(watchers);

    const grpc = service.serveGrpc(config);
    service.serveInternal(grpc, AuthServiceService, authHandlers(database, clock, watchers, events));
    const { ring } = service;
    const authority = new Authority({ database, root: service.operators, clock, events });
    const guilds = new GuildAdmin({ database, clock, events });
    const operators = new Operators({ database, clock, events });
    grpc.addForOperators(KeyAdminServiceService, keyAdminHandlers({ database, keys, guilds, ring, clock }), authority);
    grpc.addForOperators(
      OperatorAdminServiceService,
      operatorHandlers({ authority, operators, tickets: ring, clock: service.processClock }),
      authority,
    );
    const isGuildFree = (guildId: string) => keys.mayBeForgotten(guildId);
    const erasure = erasureMethods({ database, rules: erasureRules, log, isGuildFree });
    grpc.addForOperators(ErasureServiceService, erasure, authority);
    const retentionSeconds = config.RETENTION_AUDIT_SECONDS;
    lifecycle.add(new AuditKeeper({ database, clock, ring, events, retentionSeconds }));
  },
};
