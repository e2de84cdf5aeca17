import { EVENT_TYPES, type EventType } from '#proto/rest/events/index.ts';

type Id = string | number;

/**
 * The names of an event's person fields, as `chat:<chat ID>` and `game:<game ID>`, with which an erasure finds events. A
 * field of an object in the data is written as a path, such as `target.game_id`.
 */
export function personsIn(event: { type: EventType; data: object }): string[] {
  const { chat = [], game = [] } = EVENT_TYPES[event.type].persons;
  const named = (kind: string, fields: readonly string[]) =>
    fields.flatMap((field) => [idsAt(event.data, field)].flat()).flatMap((id) => (id == null ? [] : [`${kind}:${id}`]));
  return [...new Set([...named('chat', chat), ...named('game', game)])];
}

function idsAt(data: object, path: string): Id | Id[] | null | undefined {
  let value: unknown = data;
  for (const name of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value as Id | Id[] | null | undefined;
}
