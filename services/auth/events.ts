import type { EventRecorder, RecordedEvent } from '#kit/events/recorder.ts';
import type { Transaction } from '#kit/postgres/pool.ts';
import type { KeyRecord } from './domain/key.ts';
import { keyEventView } from './grpc/views.ts';

type KeyEventType = 'key.created' | 'key.changed' | 'key.revoked' | 'key.expiring' | 'key.leaked';

/** The events that auth records: each function returns one for `record`. None contains a secret or a hash. */
export class KeyEvents {
  readonly #recorder: EventRecorder;

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  /** Records events as the last step of a transaction, in the order given. */
  record(transaction: Transaction, events: readonly RecordedEvent[]): Promise<void> {
    return this.#recorder.record(transaction, events);
  }

  created = (key: KeyRecord) => eventOf('key.created', key);
  /** The settings of a key were edited, or its secret was rotated. */
  changed = (key: KeyRecord) => eventOf('key.changed', key);
  revoked = (key: KeyRecord) => eventOf('key.revoked', key);
  expiring = (key: KeyRecord) => eventOf('key.expiring', key);
  leaked = (key: KeyRecord) => eventOf('key.leaked', key);
}

const eventOf = (type: KeyEventType, key: KeyRecord): RecordedEvent => ({
  guildId: key.guildId,
  type,
  data: keyEventView(key),
});
