import { z } from 'zod';
import type { Clock } from '../limits.ts';
import { parse } from '../parse.ts';
import type { Answer, Call, Route } from '../routes.ts';
import { done, ok } from '../routes.ts';
import { refuseCloud } from './errors.ts';
import type { GameRoute } from './limits.ts';

const MAX_TOPIC = 80;
const MAX_MESSAGE_BYTES = 1024;
const MAX_KEPT = 10_000;

/** A message on its way to the game servers of a universe. */
export type BusMessage = { seq: number; universe: string; topic: string; message: string; delivered_at: number };
type Listener = (message: BusMessage) => void;

const busSchema = z.strictObject({
  /** How long a message takes to its game servers; the platform's needs 1 to 2 seconds. */
  delay_ms: z.int().min(0).max(600_000).default(0),
  /** Loses each n-th accepted message: 1 loses all, 2 every second one, 0 none. */
  drop_every: z.int().min(0).default(0),
});

/** The message bus between Open Cloud and game servers. It delivers at most once. */
export class MessageBus {
  readonly #clock: Clock;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #behaviour = busSchema.parse({});
  #accepted = 0;
  #messages: BusMessage[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Subscribes a game server to a topic; returns the function that ends the subscription. */
  subscribe(universe: string, topic: string, listener: Listener): () => void {
    const key = `${universe} ${topic}`;
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  publish(universe: string, topic: string, message: string): void {
    this.#accepted += 1;
    const { delay_ms: delayMs, drop_every: dropEvery } = this.#behaviour;
    if (dropEvery > 0 && this.#accepted % dropEvery === 0) return;
    const sent = { seq: this.#accepted, universe, topic, message, delivered_at: this.#clock() + delayMs };
    this.#messages.push(sent);
    if (this.#messages.length > MAX_KEPT) this.#messages.shift();
    if (delayMs === 0) this.#deliver(sent);
    else this.#deliverLater(sent, delayMs);
  }

  /** The messages that have been delivered, oldest first. */
  delivered(): BusMessage[] {
    return this.#messages.filter((message) => message.delivered_at <= this.#clock());
  }

  /** How many messages were accepted, also those that were lost. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Changes how messages are delivered from now on. */
  behave(behaviour: z.output<typeof busSchema>): void {
    this.#behaviour = behaviour;
    this.#accepted = 0;
  }

  clear(): void {
    this.#messages = [];
    this.#accepted = 0;
  }

  /** Forgets the messages that are still to be delivered. */
  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #deliver(message: BusMessage): void {
    for (const listener of this.#listeners.get(`${message.universe} ${message.topic}`) ?? []) listener(message);
  }

  #deliverLater(message: BusMessage, delayMs: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#deliver(message);
    }, delayMs);
    this.#timers.add(timer);
  }
}

/** The route with which messages are published to all game servers of a universe. */
export function messageRoutes(bus: MessageBus): GameRoute[] {
  const pattern = '/cloud/v2/universes/:universe:publishMessage';
  return [{ method: 'POST', pattern, limit: 'cloud-messages', handle: (call) => publish(call, bus) }];
}

function publish(call: Call, bus: MessageBus): Answer {
  const universe = call.params['universe'] ?? '';
  if (!/^[1-9][0-9]{0,15}$/.test(universe)) refuseCloud(400, `Invalid ID: ${universe}`);
  const { topic, message } = (call.body ?? {}) as Record<string, unknown>;
  if (typeof topic !== 'string' || topic === '' || Array.from(topic).length > MAX_TOPIC)
    return refuseCloud(400, `topic must be a text of 1 to ${MAX_TOPIC} characters.`);
  if (typeof message !== 'string' || Buffer.byteLength(message) > MAX_MESSAGE_BYTES)
    return refuseCloud(400, `message must be a text of at most ${MAX_MESSAGE_BYTES} bytes.`);
  bus.publish(universe, topic, message);
  return ok({});
}

/** Controls that show the delivered messages and decide how the bus delivers. */
export function messageControls(bus: MessageBus): Route[] {
  return [
    { method: 'GET', pattern: '/__messages', handle: ({ query }) => ok(viewMessages(bus, query)) },
    { method: 'PUT', pattern: '/__messages', handle: done((call) => bus.behave(parse(busSchema, call))) },
    { method: 'DELETE', pattern: '/__messages', handle: done(() => bus.clear()) },
  ];
}

function viewMessages(bus: MessageBus, query: URLSearchParams) {
  const [universe, topic, after] = ['universe', 'topic', 'after'].map((name) => query.get(name));
  const messages = bus
    .delivered()
    .filter((sent) => (!universe || sent.universe === universe) && (!topic || sent.topic === topic));
  return { accepted: bus.accepted, messages: messages.filter(({ seq }) => seq > Number(after ?? 0)) };
}
