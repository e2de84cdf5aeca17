import { readFileSync } from 'node:fs';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import { parseRedisUrl, type RedisTarget } from './url.ts';

export type RedisClient = Redis | Cluster;

export interface RedisConnectionOptions {
  /** Shown in CLIENT LIST. */
  name: string;
  log: Logger;
  /** Milliseconds after which an unanswered command is rejected; null leaves that to the callers and costs them less. */
  commandTimeoutMs?: number | null | undefined;
  /** A CA of the operator's own for TLS, PEM. */
  caFile?: string | undefined;
}

const COMMAND_MS = 1_000;
const CONNECT_MS = 2_000;
/** A connection that owes an answer and is silent for this long is made anew: its peer may be gone without a word. */
const SILENT_MS = 2_000;
/** Between attempts to connect. */
const SHORTEST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1_000;
/** Between rounds of asking all sentinels; always the same, for it is part of the error's text. */
const SENTINEL_WAIT_MS = 500;
/** How often the map of a cluster is read again without a cause. */
const CLUSTER_MAP_MS = 10_000;
const SLOT_MOVE_WAIT_MS = 5;

/**
 * A connection to Redis that comes and goes with it. A command is answered, or rejected at once while there is no
 * connection, or rejected when it takes too long: none is queued and none is sent twice, so that its caller can
 * do without Redis. `start` does not wait for Redis.
 */
export class RedisConnection implements Part {
  readonly name = 'redis';
  readonly client: RedisClient;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(client: RedisClient) {
    this.client = client;
    // Some failures on the way to a primary behind sentinels make ioredis give up for good.
    client.on('end', () => {
      if (!this.#stopped) this.#retry = setTimeout(() => void this.start(), LONGEST_WAIT_MS).unref();
    });
  }

  async start(): Promise<void> {
    // Why it failed is logged by the listener, and it is tried again.
    this.client.connect().catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    this.client.disconnect();
  }
}

/** A connection that `start` opens. The syntax of the URL is that of `parseRedisUrl`. */
export function connectRedis(url: string, options: RedisConnectionOptions): RedisConnection {
  const target = parseRedisUrl(url);
  const client = createClient(target, options);
  reportConnection(client, target, options.log);
  return new RedisConnection(client);
}

/** For `rediss`. A CA that is named takes the place of those that Node knows; that it can't be read is thrown. */
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
    socketTimeout: SILENT_MS,
    retryStrategy: waitBeforeRetry,
    // A primary that was demoted still listens.
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
    // The caller decides what to do without an answer; it does not wait for a second attempt.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // But for a slot that is being moved, key by key: a moment later its keys are together again.
    retryDelayOnTryAgain: SLOT_MOVE_WAIT_MS,
    maxRedirections: 10,
    // Certificates are made out to names, so TLS must not be asked for by address.
    ...(target.tls ? { dnsLookup: (name, done) => done(null, name) } : {}),
  };
}

function waitBeforeRetry(attempts: number): number {
  return Math.min(SHORTEST_WAIT_MS * attempts, LONGEST_WAIT_MS);
}

/** One line when the connection is there, one for each different reason why it is not. */
function reportConnection(client: RedisClient, target: RedisTarget, log: Logger): void {
  const hosts = target.hosts.map(({ host, port }) => `${host}:${port}`).join(',');
  const secrets = [target.password, target.sentinelPassword].filter((secret) => secret !== undefined);
  let reported: string | undefined;
  const report = (error: Error) => {
    // The message alone: an error of ioredis also holds the command, and with it the password.
    const reason = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), error.message);
    if (reason === reported) return;
    reported = reason;
    log.warn({ hosts, error: reason }, 'Redis can not be used');
  };
  client.on('error', report);
  client.on('node error', report);
  client.on('ready', () => {
    reported = undefined;
    log.info({ hosts }, 'connected to Redis');
  });
}
