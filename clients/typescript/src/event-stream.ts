import type { Client } from './client.ts';
import { NetworkError } from './errors.ts';
import type { CallOptions, Operation } from './operation.ts';
import { reasonOf } from './runtime.ts';

/** The gateway sends a comment every 15 s, so a longer silence means that the connection is lost. */
const IDLE_TIMEOUT_MS = 45_000;

/** The longest event that is stored. */
const MAX_EVENT_BYTES = 4 * 1024 * 1024;

/** Options of a stream of events. */
export interface StreamOptions extends CallOptions {
  /**
   * Receives the `seq` up to which the log was read, also when events in between were left out because of their type.
   * Store it after the events before it have been processed, and pass it as `after` to continue there.
   */
  onPosition?: ((seq: number) => void) | undefined;
  /** Milliseconds of silence after which a stream counts as interrupted. 45,000 by default. */
  idleTimeoutMs?: number | undefined;
}

/** How a stream ended. */
export interface StreamEnd {
  /** The milliseconds after which the gateway wants the client to connect again, if it said so. */
  retryMs: number | undefined;
}

/** One message of a stream of server-sent events. */
export interface StreamMessage {
  id?: string;
  event?: string;
  data?: string;
  retry?: string;
}

/** Opens a stream and returns its events until the gateway ends it. Throws if the connection is lost. */
export async function* streamOf<Event>(
  client: Client,
  operation: Operation,
  args: object,
  { onPosition, idleTimeoutMs = IDLE_TIMEOUT_MS, signal, ...options }: StreamOptions = {},
): AsyncGenerator<Event, StreamEnd, void> {
  const controller = new AbortController();
  const abort = () => controller.abort(reasonOf(signal));
  if (signal?.aborted) throw reasonOf(signal);
  signal?.addEventListener('abort', abort, { once: true });
  let retryMs: number | undefined;
  try {
    const { body } = await client.open(operation, args, { ...options, signal: controller.signal });
    if (!body) return { retryMs };
    for await (const { id, data, retry } of readMessages(chunksOf(body, idleTimeoutMs))) {
      if (retry !== undefined && /^[0-9]+$/.test(retry)) retryMs = Number(retry);
      if (data !== undefined) yield JSON.parse(data) as Event;
      if (id !== undefined && /^[0-9]+$/.test(id)) onPosition?.(Number(id));
    }
    return { retryMs };
  } catch (error) {
    if (signal?.aborted) throw reasonOf(signal);
    if (error instanceof StreamLost) throw new NetworkError(operation.name, error.message);
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
    controller.abort();
  }
}

class StreamLost extends Error {}

/** The parts of a body as text. Throws `StreamLost` if the connection is lost, or silent for too long. */
async function* chunksOf(body: ReadableStream<Uint8Array>, idleTimeoutMs: number): AsyncGenerator<string, void, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await withinIdleTime(reader.read(), idleTimeoutMs);
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    // Closes the connection if it is still open. Errors are ignored, because a lost connection is already closed.
    reader.cancel().catch(() => undefined);
  }
}

function withinIdleTime<Result>(reading: Promise<Result>, idleTimeoutMs: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onSilence = () => reject(new StreamLost(`the stream was silent for ${idleTimeoutMs} ms`));
    const timer = setTimeout(onSilence, idleTimeoutMs);
    reading
      .then(resolve, () => reject(new StreamLost('the connection of the stream was lost')))
      .finally(() => clearTimeout(timer));
  });
}

/** Reads the messages of a stream of server-sent events. Comments without fields are left out. */
export async function* readMessages(chunks: AsyncIterable<string>): AsyncGenerator<StreamMessage, void, void> {
  let rest = '';
  let lines: string[] = [];
  for await (const chunk of chunks) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    if (rest.length > MAX_EVENT_BYTES) throw new StreamLost('the stream has an event that is too large');
    for (const part of parts) {
      const line = part.endsWith('\r') ? part.slice(0, -1) : part;
      if (line !== '') {
        lines.push(line);
        continue;
      }
      const message = messageOf(lines);
      lines = [];
      if (Object.keys(message).length > 0) yield message;
    }
  }
}

const FIELDS = ['id', 'event', 'data', 'retry'] as const;

function messageOf(lines: readonly string[]): StreamMessage {
  const message: StreamMessage = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const field = FIELDS.find((known) => known === name);
    if (!field) continue;
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    message[field] = field === 'data' && message.data !== undefined ? `${message.data}\n${value}` : value;
  }
  return message;
}
