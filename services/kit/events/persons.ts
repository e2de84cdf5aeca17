import { EVENT_TYPES, type EventType } from '#proto/rest/events/index.ts';

/**
 * The names of an event's person fields, as `chat:<chat ID>` and `game:<game ID>`, with which an erasure finds events. A
 * field of an object in the data is written as a path, such as `target.game_id`.
 */
export function personsIn(event: { type: EventType; data: object }): string[] {
  const { chat = [], game = [] } = EVENT_TYPES[event.type].persons;
  const named = (kind: string, fields: readonly string[]) =>
    fields.flatMap((field) => [valueAt(event.data, field)].flat()).flatMap((id) => (id == null ? [] : [`${kind}:${id}`]));
  return [...new Set([...named('chat', chat), ...named('game', game)])];
}

const valueAt = (data: object, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], data);
