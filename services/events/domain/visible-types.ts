import { EVENT_TYPE_NAMES, EVENT_TYPES, type EventType } from '#proto/rest/events/index.ts';
import { grantsScope } from '#proto/rest/scopes.ts';

/**
 * Returns the names of the event types that a key with these scopes may read, in the order of the table of event types.
 * With patterns only the types that a pattern matches: a type, all types of a group such as `ban.*`, or `*`.
 */
export function visibleTypes(scopes: readonly string[] | null, patterns?: readonly string[]): EventType[] {
  return EVENT_TYPE_NAMES.filter((type) => isReadable(type, scopes) && (!patterns || matchesAny(type, patterns)));
}

function isReadable(type: EventType, scopes: readonly string[] | null): boolean {
  const { scope } = EVENT_TYPES[type];
  return scope === null || grantsScope(scopes, scope);
}

const matchesAny = (type: string, patterns: readonly string[]) =>
  patterns.some((pattern) => pattern === '*' || pattern === type || pattern === `${type.split('.')[0]}.*`);
