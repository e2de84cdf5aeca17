import type { EngineClock } from './clock.ts';

const MAX_MESSAGE_BYTES = 1024;
const DELIVERY_MS = 1000;
const MINUTE_MS = 60_000;

interface Subscriber {
  server: MessagingServer;
  id: number;
  topic: string;
}

/** One game server, as seen by the messaging of its universe. */
export interface MessagingServer {
  playerCount(): number;
  deliver(subscription: number, message: string, sentSeconds: number): void;
}

/** MessagingService of a universe without failures: every subscribed server receives a message after one second. */
export class Messaging {
  /** Decides which messages are lost; the service never promises delivery. */
  lose: (topic: string, message: string) => boolean = () => false;
  readonly #clock: EngineClock;
  readonly #servers = new Set<MessagingServer>();
  #subscribers: Subscriber[] = [];
  #nextId = 1;
  readonly #sent = new Map<MessagingServer, number[]>();
  readonly #received = new Map<string, number[]>();

  constructor(clock: EngineClock) {
    this.#clock = clock;
  }

  addServer(server: MessagingServer): void {
    this.#servers.add(server);
  }

  removeServer(server: MessagingServer): void {
    this.#servers.delete(server);
    this.#sent.delete(server);
    this.#subscribers = this.#subscribers.filter((subscriber) => subscriber.server !== server);
  }

  subscribe(server: MessagingServer, topic: string): number {
    const own = this.#subscribers.filter((subscriber) => subscriber.server === server);
    if (own.length >= 20 + 8 * server.playerCount()) throw new Error('Too many subscriptions');
    const id = this.#nextId++;
    this.#subscribers.push({ server, id, topic });
    return id;
  }

  unsubscribe(server: MessagingServer, id: number): void {
    this.#subscribers = this.#subscribers.filter((subscriber) => subscriber.server !== server || subscriber.id !== id);
  }

  /** A message from a game server. */
  publishFrom(server: MessagingServer, topic: string, message: string): void {
    const sent = this.#recent(this.#sent.get(server));
    if (sent.length >= 600 + 240 * server.playerCount()) throw new Error('Too many messages sent');
    sent.push(this.#clock.now());
    this.#sent.set(server, sent);
    this.publish(topic, message);
  }

  /** A message as JSON, from a game server or from the platform's web API. */
  publish(topic: string, message: string): void {
    if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) throw new Error('Message is longer than 1 kB');
    if (this.lose(topic, message)) return;
    const received = this.#recent(this.#received.get(topic));
    // The service drops messages above its limit without telling the sender.
    if (received.length >= 40 + 80 * this.#servers.size) return;
    received.push(this.#clock.now());
    this.#received.set(topic, received);
    const sentSeconds = Math.floor(this.#clock.now() / 1000);
    this.#clock.schedule(this.#clock.now() + DELIVERY_MS, () => {
      for (const { server, id, topic: subscribed } of this.#subscribers) {
        if (subscribed === topic) server.deliver(id, message, sentSeconds);
      }
    });
  }

  #recent(times: number[] | undefined): number[] {
    const oldest = this.#clock.now() - MINUTE_MS;
    return (times ?? []).filter((at) => at > oldest);
  }
}
