import type { Client } from './client.ts';
import { GuildDataError } from './errors.ts';
import type { StreamEnd, StreamOptions } from './event-stream.ts';
import { listEvents, streamEvents } from './operations.ts';
import type { Event } from './operations-types.ts';
import { backoffMs, delayAfter } from './retry.ts';

/** The longest time that a long poll may wait. */
const POLL_SECONDS = 25;

/** The type of an event. */
export type EventType = Event['type'];

/** An event type, all types of a group such as `ban.*`, or `*`. */
export type EventPattern = EventType | '*' | (EventType extends `${infer Group}.${string}` ? `${Group}.*` : never);

export interface EventsArgs {
  /** The `seq` of the last event that was processed. Without it reading starts at the oldest retained event. */
  after?: number | undefined;
  /** The types to read; all by default. */
  types?: readonly EventPattern[] | undefined;
  /** `stream` (the default) keeps one connection open; `poll` waits with requests, for proxies that delay streams. */
  transport?: 'stream' | 'poll' | undefined;
}

export interface EventsOptions extends StreamOptions {
  /** Receives each interruption, with its error if there is one, and the milliseconds until the next connection. */
  onInterruption?: ((error: GuildDataError | undefined, delayMs: number) => void) | undefined;
}

/** One connection: events in order, then how it ended. */
type Connection = AsyncGenerator<Event, StreamEnd, void>;

/**
 * Returns the events of the guild, in order, without an end: after an interruption it continues where it was. It throws
 * what waiting does not repair, such as `EventsGoneError` if the log no longer has the next event, or
 * `InvalidApiKeyError`. `break` and the signal of the options end it.
 */
export async function* events(
  client: Client,
  { after, types, transport = 'stream' }: EventsArgs = {},
  options: EventsOptions = {},
): AsyncGenerator<Event, never, void> {
  const { onInterruption, onPosition, ...rest } = options;
  let position = after;
  let failures = 0;
  const advance = (seq: number) => {
    position = seq;
    failures = 0;
    onPosition?.(seq);
  };
  const connect = transport === 'stream' ? streamOnce : pollOnce;
  for (;;) {
    let error: GuildDataError | undefined;
    let end: StreamEnd | undefined;
    try {
      const query = { after: position, ...(types && { types: types.join(',') }) };
      end = yield* connect(client, query, { ...rest, onPosition: advance });
    } catch (thrown) {
      if (!(thrown instanceof GuildDataError) || !thrown.isRetryable) throw thrown;
      error = thrown;
    }
    const { random, sleep } = client.runtime;
    failures++;
    const delay = error ? delayAfter(error, failures, random) : (end?.retryMs ?? backoffMs(failures, random));
    onInterruption?.(error, delay);
    await sleep(delay, options.signal);
  }
}

interface EventsQuery {
  after: number | undefined;
  types?: string;
}

function streamOnce(client: Client, { after, ...query }: EventsQuery, options: StreamOptions): Connection {
  const headers = { ...options.headers, ...(after !== undefined && { 'last-event-id': String(after) }) };
  return streamEvents(client, query, { ...options, headers });
}

async function* pollOnce(client: Client, query: EventsQuery, { onPosition, ...options }: StreamOptions): Connection {
  for (let { after } = query; ; ) {
    const page = await listEvents(client, { ...query, after, wait: POLL_SECONDS }, options);
    for (const event of page.events) {
      yield event;
      onPosition?.(event.seq);
    }
    after = page.next_after;
    onPosition?.(after);
  }
}
