import { AddressList } from '#kit/downstream/client-address.ts';
import { ClientConnections } from '#kit/downstream/client-connections.ts';
import { MAX_HEADERS } from '#kit/downstream/headers.ts';
import { enableLingeringClose } from '#kit/downstream/lingering-close.ts';
import { respondToProtocolErrors } from '#kit/downstream/protocol-errors.ts';
import { pathOf } from '#kit/files.ts';
import { HttpServer } from '#kit/http/server.ts';
import { Upstream } from '#kit/http/upstream.ts';
import { GatewayLimiter } from '#kit/limits/gateway-limiter.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import { ConsoleServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { type ConsoleConfig, readConsoleConfig } from './config.ts';
import { Forwarder } from './forward/forward.ts';
import { accessHandlers } from './http/access.ts';
import { browserAddress, createConsoleApp } from './http/app.ts';
import { Assets } from './http/assets.ts';
import { auditHandlers } from './http/audit.ts';
import { addEndpoints } from './http/endpoints.ts';
import { eventHandlers } from './http/events.ts';
import { Gate } from './http/gate.ts';
import { joinHandlers } from './http/join.ts';
import { keyHandlers } from './http/keys.ts';
import { securityHeaders } from './http/security-headers.ts';
import { sessionHandlers } from './http/sessions.ts';
import { signInHandlers } from './http/sign-in.ts';
import { Persons } from './limits/persons.ts';
import { Windows } from './limits/windows.ts';
import { EventStreams } from './streams/event-streams.ts';
import { ConsoleTelemetry } from './telemetry.ts';

/** The app as services/console/build.ts builds it. */
const DIST = pathOf('services/console/dist');

const MAX_HEADER_BYTES = 16 * 1024;
const REQUEST_MS = 15_000;
const HEADERS_MS = 10_000;
const CHECK_EVERY_MS = 1_000;

/** Longer than the calls that auth makes to providers, or to all services for an export or an erasure. */
const SLOW_DEADLINE_MS = 15_000;
/** Calls that auth may receive twice without harm. */
const REPEATABLE = [
  ...(['listProviders', 'getSession', 'checkSessions', 'listSessions', 'endSessions', 'signRequest'] as const),
  ...(['listAccess', 'listGuildKeys', 'listGuildAudit'] as const),
];

/** The console: serves the app to browsers, and forwards the requests of persons who are signed in. */
export const consoleService: ServiceDefinition<ConsoleConfig> = {
  name: 'console',
  readConfig: readConsoleConfig,
  caFiles: ['REDIS_TLS_CA_FILE'],
  build(service) {
    const { config, clock, log, metrics } = service;
    const auth = service.client(ConsoleServiceService, 'auth', config.AUTH_GRPC_ADDRESS, { repeatable: REPEATABLE });
    const slowAuth = service.client(ConsoleServiceService, 'auth', config.AUTH_GRPC_ADDRESS, {
      dependency: 'auth-slow',
      deadlineMs: SLOW_DEADLINE_MS,
      repeatable: ['exportPerson'],
    });
    const trusted = new AddressList(config.TRUSTED_PROXIES);
    const addressOf = (request: Parameters<typeof browserAddress>[0]) => browserAddress(request, trusted);
    const telemetry = new ConsoleTelemetry(metrics, log);
    const persons = new Persons(auth);
    const windows = new Windows(clock);
    const consoleOrigin = new URL(config.CONSOLE_URL).origin;
    const connections = new ClientConnections({
      maxConnections: config.MAX_CONNECTIONS,
      writeTimeoutMs: config.CLIENT_WRITE_TIMEOUT_MS,
      trustedProxies: trusted,
      metrics,
    });
    const gate = new Gate({ persons, windows, consoleOrigin, maxInFlight: config.MAX_IN_FLIGHT, connections });
    metrics.gauge('console_in_flight_requests', 'Requests in flight', [], (gauge) => gauge.set(gate.inFlight));
    metrics.gauge('console_receiving_requests', 'Requests whose body is still arriving', [], (gauge) =>
      gauge.set(gate.receiving),
    );
    const upstreams = upstreamsOf(service);
    const events = upstreams.events as Upstream;
    const streams = new EventStreams({ auth, events, metrics, log, maxStreams: config.MAX_STREAMS });
    const limiter = limiterOf(service);
    const forwarder = new Forwarder({ gate, auth, persons, limiter, clock, upstreams, addressOf, telemetry });
    const handlers = {
      ...signInHandlers({ auth, slowAuth, log }),
      ...joinHandlers({ auth: slowAuth, log }),
      ...sessionHandlers(auth, persons, config.PUBLIC_URL ?? null),
      ...accessHandlers(auth),
      ...keyHandlers(auth),
      ...auditHandlers({ auth, slowAuth }),
      ...eventHandlers({ streams, persons }),
    };
    const headers = securityHeaders(config.CONSOLE_URL);
    const app = createConsoleApp({
      assets: new Assets(DIST),
      forwarder,
      telemetry,
      readiness: service.readiness,
      tracer: service.tracer,
      headers,
      addEndpoints: (express) => addEndpoints(express, { handlers, gate, persons, windows, telemetry, addressOf }),
    });
    const listener = listenerOf(service, app);
    respondToProtocolErrors(listener.server, {
      rejected: (code) => telemetry.rejectedByParser(code),
      methodsOf: () => ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      headers,
    });
    connections.watch(listener.server);
    enableLingeringClose(listener.server);
    service.http = listener;
    for (const part of [...Object.values(upstreams), streams, connections, listener]) service.lifecycle.add(part);
  },
};

/** The HTTP server of the public port. */
function listenerOf({ config, log }: ServiceContext<ConsoleConfig>, handler: ReturnType<typeof createConsoleApp>) {
  const listener = new HttpServer({
    host: config.LISTEN_HOST,
    port: config.CONSOLE_PORT,
    handler,
    // Node must accept requests without a Host header: the console rejects them itself, with its own error response.
    requireHostHeader: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: REQUEST_MS,
    headersTimeout: HEADERS_MS,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    keepAliveTimeout: config.KEEP_ALIVE_SECONDS * 1000,
    onFailure: (error) => log.error({ err: error }, 'HTTP handler failed, connection closed'),
  });
  listener.server.maxConnections = config.MAX_CONNECTIONS;
  // Node may read one header more than the limit, so that the console can detect that a request has too many.
  listener.server.maxHeadersCount = MAX_HEADERS + 1;
  return listener;
}

/** The rate limits of the REST API, counted in the same Redis as those of the gateway. */
function limiterOf(service: ServiceContext<ConsoleConfig>): GatewayLimiter {
  const { config, clock, log, metrics, breakers } = service;
  // Commands to Redis get no timeout here, because the rate limiter has its own timeout for each decision.
  const redis = service.redis(config, { commandTimeoutMs: null });
  if (!redis) log.warn('REDIS_URL is not set: rate limits are counted in this process alone');
  return new GatewayLimiter({ redis, replicas: config.CONSOLE_REPLICAS, clock, log, metrics, breakers });
}

function upstreamsOf({ config, breakers, tls }: ServiceContext<ConsoleConfig>): Record<string, Upstream> {
  const services = {
    auth: config.AUTH_HTTP_URL,
    lookup: config.LOOKUP_HTTP_URL,
    bindings: config.BINDINGS_HTTP_URL,
    members: config.MEMBERS_HTTP_URL,
    activity: config.ACTIVITY_HTTP_URL,
    moderation: config.MODERATION_HTTP_URL,
    events: config.EVENTS_HTTP_URL,
  };
  const timeoutMs = config.SERVICE_TIMEOUT_MS;
  return Object.fromEntries(
    Object.entries(services).map(([name, url]) => [name, new Upstream({ name, url, timeoutMs, breakers, tls })]),
  );
}
