import { readFileSync } from 'node:fs';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { backoffMs } from '../resilience/backoff.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import { parseRedisUrl, type RedisTarget } from './url.ts';

export type RedisClient = Redis | Cluster;

export interface RedisConnectionOptions {
  /** The name of the service, shown in Redis's CLIENT LIST. */
  name: string;
  log: Logger;
  /**
   * The timeout of a Redis command in milliseconds, 1 s if left out; null if the caller has its own timeout, which
   * costs less per command.
   */
  commandTimeoutMs?: number | null | undefined;
  /** The PEM file of a private CA for TLS connections to Redis; Node's CAs if left out. */
  caFile?: string | undefined;
}

const COMMAND_MS = 1_000;
const CONNECT_MS = 2_000;
/**
 * A Redis connection without a response for this many milliseconds is replaced, because its other side may be lost
 * without notice.
 */
const NO_RESPONSE_MS = 2_000;
/** The delays between attempts to connect to Redis, in milliseconds. */
const BACKOFF = { minMs: 50, maxMs: 1_000 };
/**
 * Milliseconds between rounds of queries to all sentinels. The value is constant, because it is part of the logged
 * error message.
 */
const SENTINEL_WAIT_MS = 500;
/** How often, in milliseconds, the slot map of a Redis cluster is refreshed. */
const CLUSTER_MAP_MS = 10_000;
const SLOT_MOVE_WAIT_MS = 5;

/**
 * A connection to Redis that reconnects by itself. Without a connection a command is rejected immediately, otherwise
 * after its timeout. Commands are never queued and never sent twice, so that callers can continue without Redis.
 * `start` does not wait for Redis.
 */
export class RedisConnection implements Part {
  readonly name = 'redis';
  readonly client: RedisClient;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(client: RedisClient) {
    this.client = client;
    // ioredis gives up permanently if it repeatedly fails to find a primary through sentinels; then the connection is
    // started again.
    client.on('end', () => {
      if (!this.#stopped) this.#retry = setTimeout(() => void this.start(), BACKOFF.maxMs).unref();
    });
  }

  async start(): Promise<void> {
    // The error listener logs the error, and ioredis retries.
    this.client.connect().catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    this.client.disconnect();
  }
}

/** Creates a connection to Redis, which `start` opens. The syntax of `url` is that of `parseRedisUrl`. */
export function connectRedis(url: string, options: RedisConnectionOptions): RedisConnection {
  const target = parseRedisUrl(url);
  const client = createClient(target, options);
  reportConnection(client, target, options.log);
  return new RedisConnection(client);
}

/**
 * Creates a client for one connection on which messages are received, to `node` or else to the server of the URL. It
 * never connects again by itself, because the messages meanwhile would be missed unnoticed.
 */
export function createSubscriber(
  url: string,
  options: RedisConnectionOptions,
  node?: RedisTarget['hosts'][number],
): Redis {
  const target = parseRedisUrl(url);
  const once = { ...nodeOptions(target, options), retryStrategy: () => null };
  if (target.kind !== 'sentinel') return new Redis({ ...once, ...(node ?? target.hosts[0]) });
  return new Redis({
    ...once,
    ...sentinelOptions(target, options),
    sentinelRetryStrategy: () => null,
    // A former primary that is cut off from the others would still accept messages.
    failoverDetector: true,
  });
}

/**
 * Returns the TLS options for a `rediss` URL. A configured CA replaces Node's CAs. Throws if the CA file cannot be
 * read.
 */
function tlsOptions({ caFile }: RedisConnectionOptions) {
  return caFile === undefined ? {} : { ca: readFileSync(caFile) };
}

function createClient(target: RedisTarget, options: RedisConnectionOptions): RedisClient {
  if (target.kind === 'cluster') return new Cluster(target.hosts, clusterOptions(target, options));
  const where = target.kind === 'sentinel' ? sentinelOptions(target, options) : target.hosts[0];
  return new Redis({ ...nodeOptions(target, options), ...where });
}

function nodeOptions(target: RedisTarget, options: RedisConnectionOptions): RedisOptions {
  return {
    username: target.username,
    password: target.password,
    db: target.database,
    ...(target.tls ? { tls: tlsOptions(options) } : {}),
    connectionName: options.name,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    ...(options.commandTimeoutMs !== null && { commandTimeout: options.commandTimeoutMs ?? COMMAND_MS }),
    connectTimeout: CONNECT_MS,
    socketTimeout: NO_RESPONSE_MS,
    retryStrategy: reconnectDelay,
    // A primary that was demoted to a replica still accepts connections, but responds to writes with READONLY.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
}

function sentinelOptions(target: RedisTarget, options: RedisConnectionOptions): RedisOptions {
  return {
    sentinels: target.hosts,
    name: target.master,
    sentinelUsername: target.sentinelUsername,
    sentinelPassword: target.sentinelPassword,
    sentinelRetryStrategy: () => SENTINEL_WAIT_MS,
    sentinelCommandTimeout: CONNECT_MS,
    ...(target.tls ? { enableTLSForSentinelMode: true, sentinelTLS: tlsOptions(options) } : {}),
  };
}

function clusterOptions(target: RedisTarget, options: RedisConnectionOptions): ClusterOptions {
  const { lazyConnect, enableOfflineQueue, retryStrategy, ...redisOptions } = nodeOptions(target, options);
  return {
    redisOptions,
    lazyConnect,
    enableOfflineQueue,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshInterval: CLUSTER_MAP_MS,
    // Commands are not retried after a failover, because callers decide themselves what to do without a response.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // Commands are retried while a slot is moved key by key: shortly afterwards all its keys are on one node again.
    retryDelayOnTryAgain: SLOT_MOVE_WAIT_MS,
    maxRedirections: 10,
    // Certificates are issued for host names, so host names are not resolved to IP addresses for TLS connections.
    ...(target.tls ? { dnsLookup: (name, done) => done(null, name) } : {}),
  };
}

const reconnectDelay = (attempts: number) => backoffMs(attempts, BACKOFF);

/** Logs when the Redis connection is ready, and why it is not whenever the reason changes. */
function reportConnection(client: RedisClient, target: RedisTarget, log: Logger): void {
  const hosts = target.hosts.map(({ host, port }) => `${host}:${port}`).join(',');
  const secrets = [target.password, target.sentinelPassword].filter((secret) => secret !== undefined);
  let reported: string | undefined;
  const report = (error: Error) => {
    // Only the error's message is logged: an error of ioredis also holds the command, which may contain the password.
    const reason = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), error.message);
    if (reason === reported) return;
    reported = reason;
    log.warn({ hosts, error: reason }, 'Redis is unavailable');
  };
  client.on('error', report);
  client.on('node error', report);
  client.on('ready', () => {
    reported = undefined;
    log.info({ hosts }, 'connected to Redis');
  });
}
