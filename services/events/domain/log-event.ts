import { randomUUID } from 'node:crypto';
import { currentEventSource, type EventSource } from '#kit/events/source.ts';
import type { AuditOnlyType } from '#proto/rest/events/audit.ts';
import type { EventType } from '#proto/rest/events/index.ts';

/** An event as it is stored and sent to readers. */
export interface LogEvent {
  guildId: string;
  id: string;
  seq: number;
  type: string;
  createdAt: Date;
  source: EventSource;
  data: object;
}

/** An event that a service recorded, before it has a seq. */
export interface RecordedEvent {
  guildId: string;
  /** Counts from 1 in each guild and recording service. */
  number: number;
  id: string;
  /**
   * The event type. A newer version of the recording service may send types that are missing in the table of event
   * types.
   */
  type: string;
  createdAtMs: number;
  source: EventSource;
  persons: string[];
  /** A JSON object as text. */
  data: string;
  /** The record before the change, as JSON; for the audit. */
  before?: string | undefined;
}

/** An event that the events service itself records, in a transaction of its own schema. */
export type OwnEvent = Omit<RecordedEvent, 'guildId' | 'number'>;

/**
 * Returns an event of this service that happens now, caused by who sent the current request, or else by the service.
 */
export const ownEvent = (
  type: EventType | AuditOnlyType,
  data: object,
  { persons = [], before }: { persons?: string[]; before?: object | undefined } = {},
): OwnEvent => ({
  id: randomUUID(),
  type,
  createdAtMs: Date.now(),
  source: currentEventSource() ?? { kind: 'system', id: 'events' },
  persons,
  data: JSON.stringify(data),
  before: before && JSON.stringify(before),
});
