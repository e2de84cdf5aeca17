import { Idempotency } from '#kit/idempotency.ts';
import { Retention, type RetentionRule } from '#kit/retention.ts';
import type { ServiceDefinition } from '#kit/service.ts';
import { Discord } from '#platforms/discord.ts';
import { Roblox } from '#platforms/roblox.ts';
import { BindingsServiceService } from '#proto/gen/guild/bindings/v1/bindings.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { bindingsRoutes } from '#proto/rest/bindings.ts';
import { type BindingsConfig, readBindingsConfig } from './config.ts';
import { Bindings } from './domain/bindings.ts';
import { Checks } from './domain/checks.ts';
import { Evaluation } from './domain/evaluation.ts';
import { BindingsEvents } from './events.ts';
import { bindingsMethods } from './grpc.ts';
import { bindingsHandlers } from './http.ts';

/** Owns the bindings of chat roles to game data, and says which roles members are to have. */
export const bindingsService: ServiceDefinition<BindingsConfig> = {
  name: 'bindings',
  readConfig: readBindingsConfig,
  build(service) {
    const { config, metrics, log, ring, breakers, lifecycle } = service;
    const database = service.database(config);
    const { clock } = service;
    const lookup = service.client(LookupServiceService, 'lookup', config.LOOKUP_GRPC_ADDRESS);
    const game = new Roblox({ config, breakers, metrics, clock });
    const chat = new Discord({ config, breakers, metrics, clock, log });

    const events = new BindingsEvents(metrics, log);
    const idempotency = new Idempotency({
      schema: 'bindings',
      database,
      ring,
      clock,
      keptSeconds: config.RETENTION_IDEMPOTENCY_SECONDS,
    });
    const bindings = new Bindings({ database, idempotency, game, chat, clock, events });
    const checks = new Checks(bindings, game, lookup);
    const evaluation = new Evaluation({ database, game, clock, events });

    lifecycle.add(new Retention(database, retentionRules(config), clock, log));
    service.serveInternal(service.serveGrpc(config), BindingsServiceService, bindingsMethods(bindings, evaluation));
    service.serveHttp(config, bindingsRoutes, bindingsHandlers(bindings, checks));
  },
};

/** Which rows go when. Bindings stay until they are removed. */
export const retentionRules = (config: BindingsConfig): RetentionRule[] => [
  { table: 'bindings.idempotency', column: 'created_at', seconds: config.RETENTION_IDEMPOTENCY_SECONDS },
];
