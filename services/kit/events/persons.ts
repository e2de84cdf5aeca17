import { EVENT_TYPES, type EventType } from '#proto/rest/events/index.ts';

type Id = string | number;

/** The names of an event's person fields, as `chat:<chat ID>` and `game:<game ID>`, with which an erasure finds events. */
export function personsIn(event: { type: EventType; data: object }): string[] {
  const { chat = [], game = [] } = EVENT_TYPES[event.type].persons;
  const data = event.data as Record<string, Id | Id[] | null | undefined>;
  const named = (kind: string, fields: readonly string[]) =>
    fields.flatMap((field) => [data[field]].flat()).flatMap((id) => (id == null ? [] : [`${kind}:${id}`]));
  return [...new Set([...named('chat', chat), ...named('game', game)])];
}
