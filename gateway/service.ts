import { AddressList } from '#kit/downstream/client-address.ts';
import { ClientConnections } from '#kit/downstream/client-connections.ts';
import { MAX_HEADERS } from '#kit/downstream/headers.ts';
import { enableLingeringClose } from '#kit/downstream/lingering-close.ts';
import { respondToProtocolErrors } from '#kit/downstream/protocol-errors.ts';
import { Matcher } from '#kit/http/match.ts';
import { HttpServer } from '#kit/http/server.ts';
import { AuthenticationFailures } from '#kit/limits/authentication-failures.ts';
import { GatewayLimiter } from '#kit/limits/gateway-limiter.ts';
import { KeyLookupRates } from '#kit/limits/key-lookup-rates.ts';
import type { ServiceDefinition } from '#kit/service/service.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { AuthServiceService, type KeyChange } from '#proto/gen/guild/auth/v1/auth.ts';
import { API_PREFIX } from '#proto/rest/route.ts';
import packageJson from '../package.json' with { type: 'json' };
import { type GatewayConfig, readGatewayConfig } from './config.ts';
import type { Admission } from './downstream/admission.ts';
import { ClientRequest } from './downstream/client-request.ts';
import { createOwnResponses } from './endpoints/own-responses.ts';
import { securityTxt } from './endpoints/security-txt.ts';
import { createInteractions } from './interactions/create.ts';
import { INTERACTIONS_PATH } from './interactions/interactions.ts';
import { createKeys } from './keys/create.ts';
import { KeyActivity } from './keys/key-activity.ts';
import { Pipeline } from './pipeline.ts';
import { routesFor } from './routes.ts';
import { Authenticate } from './steps/authenticate.ts';
import { Streams } from './streams/streams.ts';
import { GatewayTelemetry } from './telemetry/telemetry.ts';
import { Proxy } from './upstream/proxy.ts';

/** The timeout of an API key verification in the auth service, in milliseconds. */
const VERIFY_MS = 1_000;

const MAX_HEADER_BYTES = 16 * 1024;
const REQUEST_MS = 15_000;
const HEADERS_MS = 10_000;
const CHECK_EVERY_MS = 1_000;

export const gatewayService: ServiceDefinition<GatewayConfig> = {
  name: 'gateway',
  readConfig: readGatewayConfig,
  caFiles: ['REDIS_TLS_CA_FILE'],
  build(service) {
    const { config, clock, log, metrics, breakers, ring, readiness } = service;
    const client = service.client(AuthServiceService, 'auth', config.AUTH_GRPC_ADDRESS, {
      deadlineMs: VERIFY_MS,
      repeatable: ['verify'],
    });
    const onChange = (change: KeyChange) => streams.handleChange(change);
    const created = createKeys({ client, clock, random: Math.random, metrics, log, config, onChange });
    const { keys, usage, requests, parts } = created;
    const streams = new Streams({ keys, clock, metrics, log });
    // Commands to Redis get no timeout here, because the rate limiter has its own timeout for each decision.
    const redis = service.redis(config, { commandTimeoutMs: null });
    if (!redis) log.warn('REDIS_URL is not set: rate limits are counted in this process alone');
    const limiter = new GatewayLimiter({ redis, replicas: config.GATEWAY_REPLICAS, clock, log, metrics, breakers });
    const routes = routesFor(config);
    const services = {
      auth: config.AUTH_HTTP_URL,
      lookup: config.LOOKUP_HTTP_URL,
      bindings: config.BINDINGS_HTTP_URL,
      members: config.MEMBERS_HTTP_URL,
      activity: config.ACTIVITY_HTTP_URL,
      moderation: config.MODERATION_HTTP_URL,
      events: config.EVENTS_HTTP_URL,
    };
    const proxy = new Proxy({ services, timeoutMs: config.SERVICE_TIMEOUT_MS, breakers, metrics, tls: service.tls });
    const activity = new KeyActivity(clock);
    service.admin.addPage('/keys', () => activity.top());
    const telemetry = new GatewayTelemetry({
      metrics,
      log,
      activity,
      accessLogRatio: config.ACCESS_LOG_SAMPLE_RATIO,
    });
    const matcher = new Matcher(routes, API_PREFIX);
    const trustedProxies = new AddressList(config.TRUSTED_PROXIES);
    const connections = new ClientConnections({
      maxConnections: config.MAX_CONNECTIONS,
      writeTimeoutMs: config.CLIENT_WRITE_TIMEOUT_MS,
      trustedProxies,
      metrics,
    });
    const ownResponses = createOwnResponses({
      routes,
      version: packageJson.version,
      serverUrl: config.PUBLIC_URL ?? `http://127.0.0.1:${config.GATEWAY_PORT}`,
      readiness,
      securityTxt: securityTxt({ contacts: config.SECURITY_CONTACT, publicUrl: config.PUBLIC_URL, clock }),
    });
    const interactions = createInteractions(service, limiter);
    const pipeline = new Pipeline({
      matcher,
      authenticate: new Authenticate({
        keys,
        failures: new AuthenticationFailures(clock),
        lookups: new KeyLookupRates(clock),
        clock,
      }),
      usage,
      requests,
      limiter,
      proxy,
      streams,
      ownResponses,
      interactions,
      trustedProxies,
      connections,
      maxInFlight: config.MAX_IN_FLIGHT,
      maxWaitingPolls: config.MAX_WAITING_POLLS,
      ring,
      clock,
      telemetry,
      tracer: service.tracer,
    });
    showAdmission(metrics, pipeline.admission, config);
    const listener = new HttpServer({
      host: config.LISTEN_HOST,
      port: config.GATEWAY_PORT,
      handler: pipeline.handle,
      IncomingMessage: ClientRequest,
      // Node must accept requests without a Host header: the gateway rejects them itself, with its own error response.
      requireHostHeader: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: REQUEST_MS,
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      keepAliveTimeout: config.KEEP_ALIVE_SECONDS * 1000,
      // Node then creates no body stream for requests without a body. Such requests never emit 'end', 'close' or
      // 'aborted', so code must listen to 'close' of the response.
      optimizeEmptyRequests: true,
      onFailure: (error) => log.error({ err: error }, 'HTTP handler failed, connection closed'),
    });
    // Clients that end their sending side still get their response. httpAllowHalfOpen is missing in Node's types.
    Object.assign(listener.server, { maxConnections: config.MAX_CONNECTIONS, httpAllowHalfOpen: true });
    // Node may read one header more than the limit, so that the gateway can detect that a request has too many.
    listener.server.maxHeadersCount = MAX_HEADERS + 1;
    respondToProtocolErrors(listener.server, {
      rejected: (code) => telemetry.rejectedByParser(code),
      methodsOf: (path) => {
        if (interactions && path === INTERACTIONS_PATH) return ['POST'];
        return ownResponses.isPublic(path) ? ['GET'] : matcher.methodsOf(path);
      },
      methods: [...new Set(routes.map(({ method }) => method))],
    });
    connections.watch(listener.server);
    enableLingeringClose(listener.server);
    service.http = listener;
    for (const part of [...parts, proxy, streams, connections, listener]) service.lifecycle.add(part);
  },
};

/** Exposes metrics that show how much of the limits on concurrent requests is used. */
function showAdmission(metrics: Metrics, admission: Admission, config: GatewayConfig): void {
  const show = (name: string, help: string, read: () => number) =>
    metrics.gauge(name, help, [], (gauge) => gauge.set(read()));
  const inFlight = 'Requests in flight; waiting polls and requests whose body is still arriving are not included';
  show('gateway_in_flight_requests', inFlight, () => admission.inFlight);
  const maxInFlight = 'In-flight limit; requests above it get 503';
  metrics.gauge('gateway_in_flight_requests_max', maxInFlight).set(config.MAX_IN_FLIGHT);
  show('gateway_receiving_requests', 'Requests whose body is still arriving', () => admission.receiving);
  show('gateway_waiting_polls', 'Polls that wait in a service, and streams of events', () => admission.waitingPolls);
  metrics
    .gauge('gateway_waiting_polls_max', 'Limit on waiting polls and streams of events; those above it get 503')
    .set(config.MAX_WAITING_POLLS);
}
