import { randomUUID } from 'node:crypto';
import { systemClock } from '#kit/clock.ts';
import { EventLogServiceService } from '#proto/gen/guild/events/v1/events.ts';
import { connect } from '../network/grpc.ts';
import type { Network } from './system.ts';

/** Stores events of one guild as another service does. No other process may store events of this guild. */
export class EventWriter {
  readonly #network: Network;
  readonly #guildId: string;
  #count = 0;

  constructor(network: Network, guildId: string) {
    this.#network = network;
    this.#guildId = guildId;
  }

  /** The number of stored events, which is the newest seq. */
  get count(): number {
    return this.#count;
  }

  /** The seqs of all events that were stored after a seq. */
  seqs(after: number): number[] {
    return Array.from({ length: this.#count - after }, (_, index) => after + index + 1);
  }

  async append(count: number, data: object = {}): Promise<void> {
    const address = this.#network.address('events', 'grpc');
    const { client, close } = connect(EventLogServiceService, 'events', address, systemClock, [
      this.#network.secrets.internal,
    ]);
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
    await client.appendEvents({ service: 'moderation', events });
    this.#count += count;
    close();
  }
}
