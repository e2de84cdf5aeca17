import { Upstream } from '#kit/http/upstream.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { ItemKey } from '#kit/queue/definition.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import { DiscordInteractions } from '#platforms/discord/interactions.ts';
import { platformFetch } from '#platforms/http/fetch.ts';
import type { AuthConfig } from './config.ts';
import { Interactions } from './domain/interactions/interactions.ts';
import { type CalledService, RestCalls } from './domain/interactions/rest-calls.ts';
import { InteractionTelemetry } from './interaction-telemetry.ts';

/** The timeout in milliseconds of a whole call, from the request to the last byte of the response. */
const SERVICE_MS = 8_000;

export interface InteractionPartsOptions {
  database: Database;
  begin: (item: ItemKey) => Promise<boolean>;
}

/** Creates the part of the auth service that runs slash commands. */
export function buildInteractions(
  service: ServiceContext<AuthConfig>,
  { database, begin }: InteractionPartsOptions,
): Interactions {
  const { config, metrics, log, clock, processClock, ring, breakers, tls, lifecycle } = service;
  const upstream = (name: CalledService, url: string) => {
    const created = new Upstream({ name, url, timeoutMs: SERVICE_MS, breakers, tls });
    lifecycle.add(created);
    return created;
  };
  const upstreams = {
    members: upstream('members', config.MEMBERS_HTTP_URL),
    activity: upstream('activity', config.ACTIVITY_HTTP_URL),
    moderation: upstream('moderation', config.MODERATION_HTTP_URL),
  };
  return new Interactions({
    database,
    ring,
    calls: new RestCalls({ upstreams, ring, clock: processClock }),
    chat: new DiscordInteractions({ config, breakers, metrics, clock, fetch: platformFetch(config) }),
    telemetry: new InteractionTelemetry(metrics, log),
    begin,
  });
}
