import { AUDIT_ONLY_TYPES, type AuditOnlyType, isAuditOnly } from '#proto/rest/events/audit.ts';
import { EVENT_TYPES, type EventType } from '#proto/rest/events/index.ts';

type Id = string | number;

/** Some fields may also hold a word, such as `operator` as the issuer of a command. */
const ACCOUNT_ID = /^[0-9]{1,20}$/;

/**
 * The names of an event's person fields, as `chat:<chat ID>` and `game:<game ID>`, with which an erasure finds events. A
 * field of an object in the data is written as a path, such as `target.game_id`.
 */
export function personsIn(event: { type: EventType | AuditOnlyType; data: object; before?: object }): string[] {
  const { chat = [], game = [] }: { chat?: readonly string[]; game?: readonly string[] } = isAuditOnly(event.type)
    ? AUDIT_ONLY_TYPES[event.type]
    : EVENT_TYPES[event.type].persons;
  const named = (kind: string, fields: readonly string[]) =>
    fields
      .flatMap((field) => [event.data, event.before ?? {}].flatMap((data) => idsAt(data, field)))
      .filter((id) => ACCOUNT_ID.test(String(id)))
      .map((id) => `${kind}:${id}`);
  return [...new Set([...named('chat', chat), ...named('game', game)])];
}

function idsAt(data: object, path: string): Id | Id[] | null | undefined {
  let value: unknown = data;
  for (const name of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value as Id | Id[] | null | undefined;
}
