import { createEventQueue } from '#kit/events/event-queue.ts';
import { exactly } from '#kit/guild-state/count.ts';
import { guildStateMethods } from '#kit/guild-state/state-methods.ts';
import { erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { Retention, type RetentionRule } from '#kit/postgres/retention.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import { usageMethods } from '#kit/usage/usage-methods.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { GuildStateServiceService } from '#proto/gen/guild/common/v1/guild_state.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { UsageServiceService } from '#proto/gen/guild/common/v1/usage.ts';
import { LinkAdminServiceService } from '#proto/gen/guild/lookup/v1/admin.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { lookupRoutes } from '#proto/rest/lookup.ts';
import { type LookupConfig, readLookupConfig } from './config.ts';
import { CachedLinks } from './domain/cached-links.ts';
import { Links } from './domain/links.ts';
import { erasureRules } from './erasure.ts';
import { LookupEvents } from './events.ts';
import { linkAdminMethods, lookupMethods } from './grpc/lookup.ts';
import { lookupHandlers } from './http/lookup.ts';
import { createLinkCache } from './link-cache.ts';
import { LookupTelemetry } from './telemetry.ts';

/** The lookup service: stores the links between chat and game accounts. */
export const lookupService: ServiceDefinition<LookupConfig> = {
  name: 'lookup',
  readConfig: readLookupConfig,
  build(service) {
    const { config, metrics, log } = service;
    const database = service.database(config);
    const { clock } = service;
    const { recorder, worker, queueAdmin } = createEventQueue(service, database);
    const events = new LookupEvents(recorder);
    const telemetry = new LookupTelemetry(metrics, log);
    const { cache, removed, invalidateAll, isReceiving } = createLinkCache(service, database);
    const links = new Links({ database, telemetry, events, removed });
    const cachedLinks = new CachedLinks({ links, cache, isReceiving, telemetry });
    service.lifecycle.add(worker);
    service.lifecycle.add(
      new Retention({ database, rules: retentionRules(config), clock, log, lease: service.leases.of('retention') }),
    );
    const grpc = service.serveGrpc(config);
    service.serveInternal(grpc, LookupServiceService, lookupMethods(links));
    service.serveOperators(grpc, LinkAdminServiceService, linkAdminMethods(links));
    service.serveOperators(
      grpc,
      ErasureServiceService,
      erasureMethods({ database, rules: erasureRules, log, erased: invalidateAll }),
    );
    service.serveInternal(grpc, UsageServiceService, usageMethods({ database, rules: erasureRules, metrics, log }));
    const counts = async (guildId: string) => [exactly('links', await links.count(guildId))];
    service.serveInternal(grpc, GuildStateServiceService, guildStateMethods({ clock, counts }));
    service.serveOperators(grpc, QueueAdminServiceService, queueAdmin);
    service.serveHttp(config, lookupRoutes, lookupHandlers(cachedLinks));
  },
};

/**
 * Returns the rules by which the lookup service deletes old rows. Links and their history are stored until they are
 * erased.
 */
export const retentionRules = (config: LookupConfig): RetentionRule[] => [
  { table: 'lookup.operations', column: 'created_at', seconds: config.RETENTION_OPERATIONS_SECONDS },
];
