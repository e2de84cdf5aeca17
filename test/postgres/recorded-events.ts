import { expect } from 'vitest';
import { personsIn } from '#kit/events/persons.ts';
import type { EventSource } from '#kit/events/source.ts';
import { isAuditOnly } from '#proto/rest/events/audit.ts';
import { EVENT_TYPES, type EventType } from '#proto/rest/events/index.ts';
import { databaseRows } from './database.ts';

/** An event as a service has recorded it. */
export interface StoredEvent {
  number: number;
  type: EventType;
  source: EventSource;
  persons: string[];
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look at what they expect
  data: any;
}

/**
 * Returns the events of a guild that a service has recorded and not relayed, in the order of their numbers. Checks that
 * the numbers have no gap, that the data has exactly the fields of the type's schema, and that the persons are stored.
 */
export async function recordedEvents(url: string, schema: string, guildId: string): Promise<StoredEvent[]> {
  const events = await databaseRows<StoredEvent>(
    url,
    `SELECT number::int, type, source, persons, data FROM ${schema}.events WHERE guild_id = $1 ORDER BY number`,
    [guildId],
  );
  expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
  const logged = events.filter(({ type }) => !isAuditOnly(type));
  for (const event of logged) {
    expect(EVENT_TYPES[event.type].data.strict().parse(event.data)).toEqual(event.data);
    expect(event.persons).toEqual(personsIn(event));
  }
  return logged;
}
