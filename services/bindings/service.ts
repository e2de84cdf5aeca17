import { createEventQueue } from '#kit/events/event-queue.ts';
import { guildStateMethods } from '#kit/guild-state/state-methods.ts';
import { erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { Idempotency } from '#kit/postgres/idempotency/idempotency.ts';
import { Retention, type RetentionRule } from '#kit/postgres/retention.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import { usageMethods } from '#kit/usage/usage-methods.ts';
import { SharedRedis } from '#platforms/budget/shared-redis.ts';
import { Discord } from '#platforms/discord/discord.ts';
import { platformFetch } from '#platforms/http/fetch.ts';
import { CHECKS_TTL_MS } from '#platforms/outage-check.ts';
import { Roblox } from '#platforms/roblox/roblox.ts';
import { BindingAdminServiceService } from '#proto/gen/guild/bindings/v1/admin.ts';
import { BindingsServiceService } from '#proto/gen/guild/bindings/v1/bindings.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { GuildStateServiceService } from '#proto/gen/guild/common/v1/guild_state.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { UsageServiceService } from '#proto/gen/guild/common/v1/usage.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { bindingsRoutes } from '#proto/rest/bindings.ts';
import { type BindingsConfig, readBindingsConfig } from './config.ts';
import { Bindings } from './domain/bindings.ts';
import { Checks } from './domain/checks.ts';
import { Evaluation } from './domain/evaluation.ts';
import { GuildState } from './domain/guild-state.ts';
import { Planner } from './domain/plan.ts';
import { erasureRules } from './erasure.ts';
import { BindingEvents } from './events.ts';
import { bindingAdminMethods, bindingsMethods } from './grpc/bindings.ts';
import { bindingsHandlers } from './http/bindings.ts';
import { bindingView } from './http/views.ts';
import { BindingsTelemetry } from './telemetry.ts';

/**
 * The bindings service: manages the bindings of chat roles to game data, and evaluates which roles members should have.
 */
export const bindingsService: ServiceDefinition<BindingsConfig> = {
  name: 'bindings',
  readConfig: readBindingsConfig,
  caFiles: ['PLATFORMS_CA_FILE', 'REDIS_TLS_CA_FILE'],
  build(service) {
    const { config, metrics, log, ring, breakers, lifecycle } = service;
    const database = service.database(config);
    const { clock } = service;
    const lookup = service.client(LookupServiceService, 'lookup', config.LOOKUP_GRPC_ADDRESS, {
      repeatable: ['getLinks'],
    });
    const processes = config.CHAT_PROCESSES;
    const shared = new SharedRedis({ redis: service.redis(config), processes, breakers, log });
    const platform = { shared, breakers, metrics, clock, fetch: platformFetch(config) };
    const game = new Roblox({ config, ...platform });
    const chat = new Discord({ config, log, ...platform });

    const telemetry = new BindingsTelemetry(metrics, log);
    const idempotency = new Idempotency({
      schema: 'bindings',
      database,
      ring,
      responseTtlSeconds: config.RETENTION_IDEMPOTENCY_SECONDS,
    });
    const { recorder, worker, queueAdmin } = createEventQueue(service, database);
    const events = new BindingEvents(recorder);
    const view = bindingView;
    const bindings = new Bindings({ database, idempotency, game, chat, clock, telemetry, events, view });
    const checks = new Checks({ bindings, game, lookup, clock });
    const planner = new Planner({ bindings, game, chat });
    const evaluation = new Evaluation({ database, game, clock, telemetry });

    lifecycle.add(worker);
    lifecycle.add(
      new Retention({ database, rules: retentionRules(config), clock, log, lease: service.leases.of('retention') }),
    );
    const grpc = service.serveGrpc(config);
    service.serveInternal(grpc, BindingsServiceService, bindingsMethods({ bindings, evaluation, planner }));
    service.serveOperators(grpc, BindingAdminServiceService, bindingAdminMethods(bindings));
    service.serveOperators(grpc, ErasureServiceService, erasureMethods({ database, rules: erasureRules, log }));
    service.serveInternal(grpc, UsageServiceService, usageMethods({ database, rules: erasureRules, metrics, log }));
    const { counts, checks: stateChecks } = new GuildState({ database, chat, game });
    const state = { clock, counts, checks: stateChecks, checksTtlMs: CHECKS_TTL_MS };
    service.serveInternal(grpc, GuildStateServiceService, guildStateMethods(state));
    service.serveOperators(grpc, QueueAdminServiceService, queueAdmin);
    service.serveHttp(config, bindingsRoutes, bindingsHandlers(bindings, checks));
  },
};

/**
 * Returns the rules by which the bindings service deletes old rows. Bindings themselves are stored until they are
 * removed.
 */
export const retentionRules = (config: BindingsConfig): RetentionRule[] => [
  { table: 'bindings.idempotency', column: 'created_at', seconds: config.RETENTION_IDEMPOTENCY_SECONDS },
];
