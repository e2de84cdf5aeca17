import { Listener } from '../postgres/notifications/listener.ts';
import { joinNames, Notifier, notifyDatabase, readNames } from '../postgres/notifications/notifier.ts';
import { connectRedis, type RedisConnection } from '../redis/client.ts';
import { type ChangeFeed, type ChangeFeedOptions, exportReceiving } from './feed.ts';
import { RedisChannels } from './redis-channels.ts';
import { RedisSubscription } from './redis-subscription.ts';

/** The timeout of a message to Redis in milliseconds; after it the change is announced in a database notification. */
const PUBLISH_MS = 300;

export interface RedisFeedOptions extends ChangeFeedOptions {
  redisUrl: string;
  /** The PEM file of a private CA for TLS connections to Redis. */
  caFile?: string | undefined;
}

/**
 * Announces and receives changes over Redis. A change that may not arrive there is announced in a database notification
 * too: while Redis does not work for this process, and while another process needs notifications. Processes tell each
 * other so in the names of their database sessions.
 */
export class RedisFeed implements ChangeFeed {
  readonly name = 'change feed';
  readonly #options: RedisFeedOptions;
  readonly #redis: RedisConnection;
  readonly #channels: RedisChannels;
  readonly #subscription: RedisSubscription;
  readonly #listener: Listener;
  readonly #notifier: Notifier;
  readonly #announced;

  constructor({ redisUrl, caFile, ...feed }: RedisFeedOptions) {
    this.#options = { redisUrl, caFile, ...feed };
    const { name, channel, log, metrics, databaseUrl, database, onChanges, onMissed, onPeerLost } = feed;
    const connection = { name: `${name} changes`, log, caFile, commandTimeoutMs: PUBLISH_MS };
    this.#redis = connectRedis(redisUrl, connection);
    this.#channels = new RedisChannels(this.#redis.client, redisUrl, channel, connection);
    this.#subscription = new RedisSubscription({
      channels: this.#channels,
      log,
      onMessage: (payload) => onChanges(readNames(payload)),
      onSubscribed: onMissed,
      onProven: (isProven) => this.#listener.useRedis(isProven),
      onPeerLost,
    });
    this.#listener = new Listener({
      name,
      channel,
      log,
      metrics,
      url: databaseUrl,
      canUseRedis: true,
      onNotification: (payload) => onChanges(readNames(payload)),
      onListening: async () => onMissed(),
      onVerified: () => undefined,
      ...(onPeerLost && { onPeerLost }),
    });
    this.#notifier = new Notifier({ database, channel, log, send: (payload) => this.#send(payload) });
    this.#announced = metrics.counterOf(
      'change_feed_announcements_total',
      'Batches of changes that were announced to other processes, by what over; over both they count twice',
      'over',
      ['redis', 'database'],
    );
    exportReceiving(metrics, channel, () => ({
      redis: this.#isReceivingOverRedis,
      database: this.#listener.isReceiving,
    }));
  }

  announce(name: string): void {
    this.#notifier.notify(name);
  }

  get isReceiving(): boolean {
    return this.#isReceivingOverRedis || this.#listener.isReceiving;
  }

  /** A process whose Redis does not work announces its changes in notifications, which therefore have to arrive too. */
  get #isReceivingOverRedis(): boolean {
    return this.#subscription.isProven && this.#listener.isListening;
  }

  async start(): Promise<void> {
    await this.#redis.start();
    await this.#listener.start();
    await this.#subscription.start();
  }

  drain(): Promise<void> {
    return this.#notifier.drain();
  }

  async stop(): Promise<void> {
    await this.#subscription.stop();
    await this.#listener.stop();
    await this.#redis.stop();
  }

  async #send(payload: string): Promise<void> {
    // While Redis does not work, a notification does not wait for its timeout.
    const isNotified = !this.#isReceivingOverRedis;
    const [isPublished] = await Promise.all([this.#publish(payload), isNotified && this.#notify(payload)]);
    // Looked at after Redis has responded, because this process may have been suspended meanwhile.
    const isSurelyReceived = isPublished && this.#subscription.isProven && !this.#listener.peersMayNeedNotifications;
    if (!isNotified && !isSurelyReceived) await this.#notify(payload);
  }

  async #notify(payload: string): Promise<void> {
    await notifyDatabase(this.#options.database, this.#options.channel, payload);
    this.#announced.inc({ over: 'database' });
  }

  /** Returns false if Redis may not have delivered the message. */
  async #publish(payload: string): Promise<boolean> {
    const byChannel = Map.groupBy(readNames(payload), (name) => this.#channels.of(name));
    try {
      const receivers = await Promise.all(
        [...byChannel].map(([channel, names]) => this.#channels.publish(channel, joinNames(names))),
      );
      this.#announced.inc({ over: 'redis' });
      // Without a receiver this is another Redis than the one from which this process itself receives.
      return receivers.every((count) => count > 0);
    } catch {
      return false;
    }
  }
}
