import type { z } from 'zod';
import type { Route } from '#proto/rest/route.ts';
import type { ChangeFeed, ChangeHandlers } from '../changes/feed.ts';
import { NotifyFeed } from '../changes/notify-feed.ts';
import { RedisFeed } from '../changes/redis-feed.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type AllowedCallers, verifyCallToken } from '../grpc/call-token.ts';
import { GrpcChannel, type GrpcClient, type GrpcClientOptions, isGrpcFailure } from '../grpc/client.ts';
import type { DefinitionShape, GrpcHandlers } from '../grpc/definition.ts';
import { TicketGuard } from '../grpc/operators.ts';
import { GrpcServer } from '../grpc/server.ts';
import { createHttpApp, type HttpHandlers } from '../http/app.ts';
import { HttpServer } from '../http/server.ts';
import { LoopLeases } from '../leases/loop-leases.ts';
import { DatabaseClock } from '../postgres/clock.ts';
import { type Database, openDatabase } from '../postgres/pool.ts';
import { waitForSchema } from '../postgres/schema.ts';
import { DatabaseServerStatus } from '../postgres/server-status.ts';
import { connectRedis, type RedisClient, type RedisConnectionOptions } from '../redis/client.ts';
import { RedisServerStatus } from '../redis/server-status.ts';
import { Breakers } from '../resilience/breaker.ts';
import { InternalTls } from '../security/internal-tls.ts';
import type { ProcessKeys } from '../security/keyring.ts';
import { callerOf, OPERATORS } from '../security/purposes.ts';
import type { Logger } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { Tracer } from '../telemetry/tracing/tracer.ts';
import { AdminServer } from './admin-server.ts';
import { canPrepare, type databaseConfig, type processConfig, type redisConfig } from './config.ts';
import { Lifecycle } from './lifecycle.ts';
import { Readiness } from './readiness.ts';

/**
 * The limits of HTTP servers behind the gateway. The gateway adds headers to requests that are within its own header limit.
 * Callers close idle connections after 10 s (gateway/upstream/connections.ts) or 30 s (kit/http/upstream.ts), so the server
 * closes none to which a request is being sent.
 */
const BEHIND_GATEWAY = { maxHeaderSize: 32 * 1024, keepAliveTimeout: 65_000, optimizeEmptyRequests: true };

export type ProcessConfig = z.output<z.ZodObject<typeof processConfig>>;
type RedisConfig = z.output<z.ZodObject<typeof redisConfig>>;
type DatabaseConfig = z.output<z.ZodObject<typeof databaseConfig>>;

/** The parts of a service that tests replace. */
export interface ServiceOverrides {
  clock?: Clock;
  log?: Logger;
}

type ChannelOptions = Pick<GrpcClientOptions, 'deadlineMs' | 'connectMs' | 'headers'> & {
  /** The name of the channel's circuit breaker, if the process has several channels to the service. */
  dependency?: string;
};

interface ServiceContextOptions<Config> {
  name: string;
  config: Config;
  log: Logger;
  overrides: ServiceOverrides;
}

/**
 * The configuration of a service and the parts of the kit that the service uses; they start and stop with the service.
 */
export class ServiceContext<Config extends ProcessConfig> {
  readonly name: string;
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly readiness = new Readiness();
  readonly breakers: Breakers;
  readonly lifecycle: Lifecycle;
  /** The derived keys of this process. */
  readonly ring: ProcessKeys;
  /** The processes that may call this service: it shares a key with each of them. */
  readonly callers: AllowedCallers;
  /** The callers that may use administrative methods: operators only. */
  readonly operators: AllowedCallers;
  readonly admin: AdminServer;
  /** Exports traces; undefined unless a collector is configured. */
  readonly tracer: Tracer | undefined;
  /** Mutual TLS between processes; undefined if no certificate files are configured. */
  readonly tls: InternalTls | undefined;
  /** The clock of this process; replaced by the clock of the database once `database` was called. */
  clock: Clock;
  /**
   * The clock that verifies principals and call tokens: other processes sign them by their own clocks, not the
   * database's.
   */
  readonly processClock: Clock;
  http: HttpServer | undefined;
  grpc: GrpcServer | undefined;
  readonly #overrides: ServiceOverrides;
  #leases: LoopLeases | undefined;

  constructor({ name, config, log, overrides }: ServiceContextOptions<Config>) {
    this.name = name;
    this.config = config;
    this.log = log;
    this.processClock = overrides.clock ?? systemClock;
    this.clock = this.processClock;
    this.#overrides = overrides;
    this.lifecycle = new Lifecycle(log);
    this.metrics = new Metrics({ exemplars: config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined });
    this.breakers = new Breakers(this.metrics);
    this.ring = config.INTERNAL_KEYS;
    const callers = this.ring.purposes.map((purpose) => callerOf(purpose, name));
    const others = callers.filter((caller) => caller !== undefined && caller !== OPERATORS);
    this.callers = { ring: this.ring, names: new Set(others as string[]) };
    this.operators = { ring: this.ring, names: new Set([OPERATORS]) };
    this.admin = new AdminServer({
      host: config.ADMIN_HOST,
      port: config.ADMIN_PORT,
      readiness: this.readiness,
      metrics: this.metrics,
      admits: (token, method) =>
        verifyCallToken(this.operators, token, { audience: name, method }, this.processClock.now()) !== undefined,
    });
    this.lifecycle.add(this.admin);
    this.tracer = Tracer.from(config, { service: name, metrics: this.metrics, log });
    if (this.tracer) this.lifecycle.add(this.tracer);
    this.tls = InternalTls.from(config, { metrics: this.metrics, log });
    if (this.tls) this.lifecycle.add(this.tls);
    this.lifecycle.add({ name: 'breakers', stop: async () => this.breakers.stop() });
  }

  /**
   * Creates the database connection pool of the service. The service starts only when the database schema is as new as
   * this code.
   */
  database(config: DatabaseConfig): Database {
    const { name, metrics, log, breakers } = this;
    const database = openDatabase({
      name,
      metrics,
      log,
      breakers,
      url: config.DATABASE_URL,
      mayPrepare: canPrepare(config),
      poolMax: config.PG_POOL_MAX,
    });
    const stopped = new AbortController();
    this.lifecycle.add({
      name: 'database',
      start: () => waitForSchema(database, name, { log, metrics, signal: stopped.signal }),
      stop: () => {
        stopped.abort();
        return database.close();
      },
    });
    // Stops after the loops, and before the database.
    this.#leases = new LoopLeases({ database, schema: name, metrics, log });
    this.lifecycle.add(this.#leases);
    this.lifecycle.add(new DatabaseServerStatus({ database, metrics }));
    if (!this.#overrides.clock) {
      const clock = new DatabaseClock({ database, local: systemClock });
      this.lifecycle.add(clock);
      this.clock = clock;
    }
    return database;
  }

  /** The leases by which each background loop of the service has one owner; only after `database` was called. */
  get leases(): LoopLeases {
    if (!this.#leases) throw new Error('a service without a database has no leases');
    return this.#leases;
  }

  /**
   * Creates a Redis client, or returns undefined without REDIS_URL. The service starts and runs even if Redis is down.
   */
  redis(config: RedisConfig, options: Pick<RedisConnectionOptions, 'commandTimeoutMs'> = {}): RedisClient | undefined {
    if (config.REDIS_URL === undefined) return undefined;
    const { name, log, metrics } = this;
    const connection = connectRedis(config.REDIS_URL, { name, log, caFile: config.REDIS_TLS_CA_FILE, ...options });
    this.lifecycle.add(connection);
    this.lifecycle.add(new RedisServerStatus({ client: connection.client, metrics }));
    return connection.client;
  }

  /**
   * Creates the feed with which the processes of the service tell each other of changes: over Redis, or without
   * REDIS_URL over the database.
   */
  changeFeed(
    config: DatabaseConfig & RedisConfig,
    { database, channel, ...handlers }: ChangeHandlers & { database: Database; channel: string },
  ): ChangeFeed {
    const { name, log, metrics } = this;
    const databaseUrl = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL;
    const options = { ...handlers, name, channel, database, databaseUrl, log, metrics };
    const { REDIS_URL: redisUrl, REDIS_TLS_CA_FILE: caFile } = config;
    const feed = redisUrl === undefined ? new NotifyFeed(options) : new RedisFeed({ ...options, redisUrl, caFile });
    this.lifecycle.add(feed);
    return feed;
  }

  /** Creates a gRPC channel to another service. */
  channel(audience: string, address: string, { dependency = audience, ...options }: ChannelOptions = {}): GrpcChannel {
    const breaker = this.breakers.create(dependency, isGrpcFailure);
    const { ring, processClock: clock, metrics, name: caller, tls } = this;
    const channel = new GrpcChannel({ caller, audience, address, ring, clock, metrics, breaker, tls, ...options });
    this.lifecycle.add({ name: `channel to ${audience}`, stop: async () => channel.close() });
    return channel;
  }

  /** Creates a gRPC channel for one service definition and returns its client functions; see GrpcChannel.methods. */
  client<Definition extends DefinitionShape>(
    definition: Definition,
    audience: string,
    address: string,
    { repeatable, ...options }: ChannelOptions & { repeatable?: readonly (keyof Definition)[] } = {},
  ): GrpcClient<Definition> {
    return this.channel(audience, address, options).methods(definition, repeatable);
  }

  /** Creates the gRPC server of the service; gRPC services are added to the returned server. */
  serveGrpc(config: { GRPC_PORT: number; GRPC_REFLECTION: boolean }): GrpcServer {
    const { processClock: clock, metrics, log, readiness, name: service, tls, tracer } = this;
    const listen = { host: this.config.LISTEN_HOST, port: config.GRPC_PORT, reflection: config.GRPC_REFLECTION };
    this.grpc = new GrpcServer({ service, clock, metrics, log, readiness, tls, tracer, ...listen });
    this.lifecycle.add(this.grpc);
    return this.grpc;
  }

  /** Adds a gRPC service that only those processes may call that share a key with this process. */
  serveInternal<Definition extends DefinitionShape>(
    server: GrpcServer,
    definition: Definition,
    handlers: GrpcHandlers<Definition>,
  ): void {
    server.add(definition, handlers, this.callers);
  }

  /** Adds a gRPC service that operators call with a ticket from the auth service. */
  serveOperators<Definition extends DefinitionShape>(
    server: GrpcServer,
    definition: Definition,
    handlers: GrpcHandlers<Definition>,
  ): void {
    server.addForOperators(definition, handlers, new TicketGuard(this.ring));
  }

  /** Creates the HTTP server of the service and serves the REST routes with it. */
  serveHttp<Table extends Record<string, Route>>(
    config: { HTTP_PORT: number },
    table: Table,
    handlers: HttpHandlers<Table>,
  ): void {
    const { ring, processClock: clock, metrics, log, name: service, tracer } = this;
    const app = createHttpApp(table, handlers, { service, ring, clock, metrics, log, tracer });
    this.http = new HttpServer({
      host: this.config.LISTEN_HOST,
      port: config.HTTP_PORT,
      handler: app,
      ...BEHIND_GATEWAY,
      tls: this.tls,
      onFailure: (error) => log.error({ err: error }, 'HTTP handler failed, connection closed'),
    });
    this.lifecycle.add(this.http);
  }
}
