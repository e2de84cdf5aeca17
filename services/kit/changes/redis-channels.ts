import { Cluster, type Redis } from 'ioredis';
import { createSubscriber, type RedisClient, type RedisConnectionOptions } from '../redis/client.ts';
import { parseRedisUrl, type RedisTarget } from '../redis/url.ts';

/** The number of channels over which the guilds are spread in a Redis Cluster, so that several nodes share the work. */
const CLUSTER_CHANNELS = 4;

/** The channels of a service in Redis: one, or in a Redis Cluster several sharded ones. */
export class RedisChannels {
  readonly names: readonly string[];
  readonly #url: string;
  readonly #options: RedisConnectionOptions;
  readonly #client: RedisClient;

  /** Messages are sent with `client`, which must be connected to the Redis of `url`. */
  constructor(client: RedisClient, url: string, channel: string, options: RedisConnectionOptions) {
    const { kind, database } = parseRedisUrl(url);
    // Redis delivers messages to the subscribers of all its databases.
    const name = `guild-data:changes:${channel}:${database}`;
    const count = kind === 'cluster' ? CLUSTER_CHANNELS : 1;
    this.names = Array.from({ length: count }, (_, index) => `${name}:${index}`);
    this.#url = url;
    this.#options = options;
    this.#client = client;
  }

  /** Returns the channel of a change. */
  of(name: string): string {
    let hash = 0;
    for (let index = 0; index < name.length; index++) hash = (hash * 31 + name.charCodeAt(index)) >>> 0;
    return this.names[hash % this.names.length] ?? '';
  }

  /** Sends a message. Returns how many subscribers received it. */
  async publish(channel: string, message: string): Promise<number> {
    if (this.#client instanceof Cluster) return Number(await this.#client.spublish(channel, message));
    return this.#client.publish(channel, message);
  }

  /**
   * Subscribes to all channels, on a connection to each node that has some. Calls `onLost` when one of the connections
   * has ended. Returns a function that closes them.
   */
  async subscribe(onMessage: (message: string) => void, onLost: (reason: Error) => void): Promise<() => void> {
    const clients: Redis[] = [];
    let isClosed = false;
    const close = () => {
      isClosed = true;
      for (const client of clients) client.disconnect();
    };
    const open = async (channels: readonly string[], node?: RedisTarget['hosts'][number]) => {
      const client = createSubscriber(this.#url, this.#options, node);
      clients.push(client);
      let reason = new Error('Redis closed the connection');
      client.on('error', (error: Error) => (reason = error));
      client.on('end', () => onLost(reason));
      client.on(node ? 'smessage' : 'message', (_channel: string, message: string) => {
        if (!isClosed) onMessage(message);
      });
      await client.connect();
      // In a cluster each channel has a slot of its own.
      if (node) for (const channel of channels) await client.ssubscribe(channel);
      else await client.subscribe(...channels);
    };
    try {
      if (this.#client instanceof Cluster)
        await Promise.all((await nodesOf(this.#client, this.names)).map((one) => open(one.channels, one.node)));
      else await open(this.names);
      return close;
    } catch (error) {
      close();
      throw error;
    }
  }
}

interface NodeChannels {
  node: RedisTarget['hosts'][number];
  channels: string[];
}

/** Returns the primaries of a Redis Cluster that have the slots of these channels. */
async function nodesOf(cluster: Cluster, channels: readonly string[]): Promise<NodeChannels[]> {
  const ranges = await cluster.cluster('SLOTS');
  const nodes = new Map<string, NodeChannels>();
  for (const channel of channels) {
    const slot = await cluster.cluster('KEYSLOT', channel);
    const [, , primary] = ranges.find(([first, last]) => first <= slot && slot <= last) ?? [];
    const [host, port] = primary ?? [];
    if (!host || port === undefined) throw new Error('the Redis Cluster has no node for a channel');
    const known = nodes.get(`${host}:${port}`) ?? { node: { host, port }, channels: [] };
    known.channels.push(channel);
    nodes.set(`${host}:${port}`, known);
  }
  return [...nodes.values()];
}
