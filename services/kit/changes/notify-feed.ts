import { Listener } from '../postgres/notifications/listener.ts';
import { Notifier, readNames } from '../postgres/notifications/notifier.ts';
import { type ChangeFeed, type ChangeFeedOptions, exportReceiving } from './feed.ts';

/** Announces and receives changes with NOTIFY and LISTEN of PostgreSQL. */
export class NotifyFeed implements ChangeFeed {
  readonly name = 'change feed';
  readonly #listener: Listener;
  readonly #notifier: Notifier;

  constructor({ databaseUrl, onChanges, onMissed, ...options }: ChangeFeedOptions) {
    this.#listener = new Listener({
      ...options,
      url: databaseUrl,
      onNotification: (payload) => onChanges(readNames(payload)),
      onListening: async () => onMissed(),
      onVerified: () => undefined,
    });
    this.#notifier = new Notifier(options);
    exportReceiving(options.metrics, options.channel, () => ({ database: this.isReceiving }));
  }

  announce(name: string): void {
    this.#notifier.notify(name);
  }

  get isReceiving(): boolean {
    return this.#listener.isReceiving;
  }

  start(): Promise<void> {
    return this.#listener.start();
  }

  drain(): Promise<void> {
    return this.#notifier.drain();
  }

  stop(): Promise<void> {
    return this.#listener.stop();
  }
}
