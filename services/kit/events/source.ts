import { AsyncLocalStorage } from 'node:async_hooks';
import { requestContext } from '../context.ts';

/**
 * Who caused an event: an API key, a person in the console, an operator, or the installation itself. Readers of events
 * get the kind and the ID; the other fields are for the audit.
 */
export interface EventSource {
  kind: 'api_key' | 'console' | 'operator' | 'system';
  /** The prefix of the API key, the chat ID of the person, the operator's name, or the name of the service. */
  id: string;
  /** The request that caused the event; missing if the event is a later result of it. */
  requestId?: string;
  /** The address of the client of this request. */
  address?: string;
  /** The role of the person in the guild. */
  role?: string;
}

/** The gRPC header that carries the event source of a call between services: its kind, a space and its ID. */
const EVENT_SOURCE_HEADER = 'x-event-source';
/** The gRPC header with the fields for the audit. It is separate, so that earlier versions can read the source. */
const EVENT_ORIGIN_HEADER = 'x-event-origin';

const MAX_ORIGIN_LENGTH = 200;

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

/** Returns the part of an event source that readers of events see. */
export const publicSource = ({ kind, id }: EventSource): EventSource => ({ kind, id });

/** Returns the gRPC headers that carry the event source of the current work; none if it has none. */
export function eventSourceHeaders(): [name: string, value: string][] {
  const source = currentEventSource();
  if (!source) return [];
  const { kind, id, requestId, address, role } = source;
  // The ID of a person may have characters that no header may have.
  const headers: [string, string][] = [[EVENT_SOURCE_HEADER, `${kind} ${encodeURI(id.toWellFormed())}`]];
  const fields = Object.entries({ requestId, address, role }).filter(([, value]) => value !== undefined);
  if (fields.length > 0) headers.push([EVENT_ORIGIN_HEADER, String(new URLSearchParams(fields as [string, string][]))]);
  return headers;
}

/** Reads the event source in the headers of a gRPC call; undefined if it is missing or malformed. */
export function readEventSource(header: (name: string) => string | undefined): EventSource | undefined {
  const [kind = '', id = '', ...rest] = (header(EVENT_SOURCE_HEADER) ?? '').split(' ');
  if (!KINDS.includes(kind) || id === '' || rest.length > 0) return undefined;
  const fields = new URLSearchParams(header(EVENT_ORIGIN_HEADER) ?? '');
  const source: EventSource = { kind: kind as EventSource['kind'], id: decoded(id) };
  for (const name of ['requestId', 'address', 'role'] as const) {
    const value = fields.get(name)?.slice(0, MAX_ORIGIN_LENGTH);
    if (value) source[name] = value;
  }
  return source;
}

function decoded(id: string): string {
  try {
    return decodeURI(id);
  } catch {
    return id;
  }
}
