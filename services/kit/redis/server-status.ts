import { performance } from 'node:perf_hooks';
import { Cluster, type Redis } from 'ioredis';
import { within } from '../resilience/deadline.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RedisClient } from './client.ts';

const INTERVAL_MS = 15_000;
/** The timeout of a status command in milliseconds; the client may have none of its own. */
const TIMEOUT_MS = 1_000;

/** What INFO reports of one server. Managed servers leave out some of it. */
interface ServerInfo {
  clients?: number | undefined;
  maxClients?: number | undefined;
  memory?: number | undefined;
  /** undefined if the server has no limit. */
  maxMemory?: number | undefined;
  /** Seconds since the slowest replica confirmed what it received; undefined without replicas. */
  lag?: number | undefined;
}

export interface RedisServerStatusOptions {
  client: RedisClient;
  metrics: Metrics;
}

/**
 * Exports the latency of Redis, its connections, its memory and the lag of its replicas, read every 15 s. Of several
 * servers each gauge shows the one that is closest to its limit. A user that may not call INFO only gets the latency.
 */
export class RedisServerStatus implements Part {
  readonly name = 'status of Redis';
  readonly #client: RedisClient;
  readonly #seconds;
  readonly #gauges;
  #timer: NodeJS.Timeout | undefined;

  constructor({ client, metrics }: RedisServerStatusOptions) {
    this.#client = client;
    metrics.gauge('redis_connected', '1 while this process is connected to Redis', [], (gauge) =>
      gauge.set(client.status === 'ready' ? 1 : 0),
    );
    this.#seconds = metrics.duration(
      'redis_round_trip_seconds',
      'Time until Redis responded to a PING or the PING failed, every 15 s',
    );
    // Gauges with a label have no series until they are set, because a server may not report the value.
    const gauge = (name: string, help: string) => metrics.gauge(name, help, ['role']);
    this.#gauges = {
      clients: gauge('redis_server_clients', 'Connections of all clients to the Redis server'),
      maxClients: gauge('redis_server_clients_max', 'Connections that the Redis server allows (maxclients)'),
      memory: gauge('redis_server_memory_bytes', 'Memory that the data of the Redis server uses'),
      maxMemory: gauge('redis_server_memory_max_bytes', 'Memory that the Redis server may use (maxmemory), if limited'),
      lag: gauge('redis_replication_lag_seconds', 'Time since the slowest replica of Redis confirmed what it received'),
    };
  }

  async start(): Promise<void> {
    // The first reading is not awaited: a service starts even if Redis is down.
    this.#client.on('ready', () => void this.update());
    this.#timer = setInterval(() => void this.update(), INTERVAL_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  /** Reads the status of every server. A server that does not respond is left out; other metrics show that. */
  async update(): Promise<void> {
    if (this.#client.status !== 'ready') return;
    const servers = this.#client instanceof Cluster ? this.#client.nodes('master') : [this.#client];
    const infos = await Promise.all(servers.map((server) => this.#read(server).catch((): ServerInfo => ({}))));
    const byClients = closest(infos, 'clients', 'maxClients');
    const byMemory = closest(infos, 'memory', 'maxMemory');
    const lags = infos.flatMap(({ lag }) => (lag === undefined ? [] : [lag]));
    this.#show({
      clients: byClients?.clients,
      maxClients: byClients?.maxClients,
      memory: byMemory?.memory,
      maxMemory: byMemory?.maxMemory,
      lag: lags.length > 0 ? Math.max(...lags) : undefined,
    });
  }

  #show(info: ServerInfo): void {
    for (const [name, gauge] of Object.entries(this.#gauges)) {
      const value = info[name as keyof ServerInfo];
      if (value === undefined) gauge.reset();
      else gauge.set({ role: 'primary' }, value);
    }
  }

  async #read(server: Redis): Promise<ServerInfo> {
    const started = performance.now();
    try {
      await within(TIMEOUT_MS, server.ping());
    } finally {
      this.#seconds.observe((performance.now() - started) / 1000);
    }
    return parseInfo(await within(TIMEOUT_MS, server.info()));
  }
}

/** Reads the response to INFO: lines such as `connected_clients:3` and `slave0:ip=10.0.0.1,…,lag=1`. */
export function parseInfo(text: string): ServerInfo {
  const fields = new Map(text.split('\r\n').map((line) => [line.split(':', 1)[0], line.slice(line.indexOf(':') + 1)]));
  const numberOf = (name: string) => (fields.has(name) ? Number(fields.get(name)) : undefined);
  const lags = [...text.matchAll(/^slave\d+:.*\blag=(\d+)/gm)].map(([, lag]) => Number(lag));
  return {
    clients: numberOf('connected_clients'),
    maxClients: numberOf('maxclients'),
    memory: numberOf('used_memory'),
    maxMemory: numberOf('maxmemory') || undefined,
    lag: lags.length > 0 ? Math.max(...lags) : undefined,
  };
}

/** The server with the largest share of a limit, of those that reported their use; undefined if none did. */
export function closest(infos: readonly ServerInfo[], used: 'clients' | 'memory', max: 'maxClients' | 'maxMemory') {
  const share = (info: ServerInfo) => (info[used] ?? 0) / (info[max] ?? Number.POSITIVE_INFINITY);
  const reported = infos.filter((info) => info[used] !== undefined);
  return reported.toSorted((one, other) => share(other) - share(one))[0];
}
