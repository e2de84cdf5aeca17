import { AsyncLocalStorage } from 'node:async_hooks';
import { requestContext } from '../context.ts';

/** Who caused an event: an API key, a person in the console, an operator, or the installation itself. */
export interface EventSource {
  kind: 'api_key' | 'console' | 'operator' | 'system';
  /** The prefix of the API key, the chat ID of the person, the operator's name, or the name of the service. */
  id: string;
}

/** The gRPC header that carries the event source of a call between services: its kind, a space and its ID. */
export const EVENT_SOURCE_HEADER = 'x-event-source';

const KINDS: readonly string[] = ['api_key', 'console', 'operator', 'system'] satisfies EventSource['kind'][];
const sources = new AsyncLocalStorage<EventSource>();

/**
 * Runs `work` with an event source: events that `work` records have this source, and gRPC calls that it makes send the
 * source to the called service. Work that is done later stores the source with its row.
 */
export function withEventSource<Result>(source: EventSource, work: () => Result): Result {
  return sources.run(source, work);
}

/**
 * Returns the event source of the current work: who sent the current request, or else undefined. A source that was set
 * with `withEventSource` has precedence over the operator of the call, because an operator's call may wake a worker,
 * whose work has sources of its own.
 */
export function currentEventSource(): EventSource | undefined {
  const operator = requestContext.getStore()?.operator;
  return sources.getStore() ?? (operator === undefined ? undefined : { kind: 'operator', id: operator });
}

/** Formats an event source for EVENT_SOURCE_HEADER. */
export const formatEventSource = ({ kind, id }: EventSource) => `${kind} ${id}`;

/** Parses the value of EVENT_SOURCE_HEADER; undefined if it is missing or malformed. */
export function readEventSource(text: string | undefined): EventSource | undefined {
  const [kind = '', id = '', ...rest] = (text ?? '').split(' ');
  if (!KINDS.includes(kind) || id === '' || rest.length > 0) return undefined;
  return { kind: kind as EventSource['kind'], id };
}
