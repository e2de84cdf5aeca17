import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '#kit/clock.ts';
import { EventLogServiceService, type RecordedEvent } from '#proto/gen/guild/events/v1/events.ts';
import { connect } from '../network/grpc.ts';

const MAX_ATTEMPTS = 50;
const PAUSE_MS = 200;

/** Stores events of one guild as another service does. No other process may store events of this guild. */
export class EventWriter {
  readonly #address: () => string;
  readonly #secret: string;
  readonly #guildId: string;
  readonly #seqBefore: number;
  #count = 0;

  /**
   * `address` returns the gRPC address of the events service. `seqBefore` is the newest seq of the guild before the first
   * event of this writer.
   */
  constructor(
    guildId: string,
    { address, secret, seqBefore = 0 }: { address: () => string; secret: string; seqBefore?: number },
  ) {
    this.#seqBefore = seqBefore;
    this.#address = address;
    this.#secret = secret;
    this.#guildId = guildId;
  }

  /** The newest seq. */
  get newestSeq(): number {
    return this.#seqBefore + this.#count;
  }

  /** The seqs of all events that were stored after a seq. */
  seqs(after: number): number[] {
    return Array.from({ length: this.newestSeq - after }, (_, index) => after + index + 1);
  }

  async append(count: number, data: object = {}): Promise<void> {
    const events = Array.from({ length: count }, (_, index) => ({
      guildId: this.#guildId,
      number: this.#count + index + 1,
      id: randomUUID(),
      type: 'ban.created',
      createdAtMs: Date.now(),
      source: { kind: 'system', id: 'moderation' },
      persons: [],
      data: JSON.stringify(data),
    }));
    await this.#send(events);
    this.#count += count;
  }

  /** A call that failed is repeated: an event is stored once however often it is sent. */
  async #send(events: RecordedEvent[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { client, close } = connect(EventLogServiceService, 'events', this.#address(), systemClock, [this.#secret]);
      try {
        await client.appendEvents({ service: 'moderation', events });
        return;
      } catch (error) {
        if (attempt === MAX_ATTEMPTS) throw error;
        await wait(PAUSE_MS);
      } finally {
        close();
      }
    }
  }
}
