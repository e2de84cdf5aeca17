import { readMessages } from '#clients/typescript/src/event-stream.ts';
import type { Event } from '#clients/typescript/src/operations-types.ts';
import { CONSOLE_PREFIX } from '../constants.ts';

export type StreamState = 'connecting' | 'open' | 'interrupted';

export interface EventStreamOptions {
  guildId: string;
  onEvent: (event: Event) => void;
  onState: (state: StreamState) => void;
  signal: AbortSignal;
}

const MIN_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;
/** The server writes at least a comment every 15 s. */
const MAX_SILENCE_MS = 45_000;

/** Reads the events of a guild until the signal aborts. After an interruption it continues where it was. */
export async function followEvents({ guildId, onEvent, onState, signal }: EventStreamOptions): Promise<void> {
  let lastId: string | undefined;
  let delay = MIN_DELAY_MS;
  onState('connecting');
  while (!signal.aborted) {
    try {
      for await (const { id, data } of readMessages(textOf(await open(guildId, lastId, signal, onState), signal))) {
        delay = MIN_DELAY_MS;
        lastId = id ?? lastId;
        if (data !== undefined) onEvent(JSON.parse(data) as Event);
      }
    } catch {
      // The reason makes no difference: the connection is lost, and is opened again.
    }
    if (signal.aborted) return;
    onState('interrupted');
    await pause(delay * (0.75 + Math.random() / 2), signal);
    delay = Math.min(delay * 2, MAX_DELAY_MS);
  }
}

async function open(
  guildId: string,
  lastId: string | undefined,
  signal: AbortSignal,
  onState: (state: StreamState) => void,
) {
  const response = await fetch(`${CONSOLE_PREFIX}/guilds/${guildId}/events`, {
    headers: { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) },
    signal,
  });
  if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
  onState('open');
  return response.body;
}

async function* textOf(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<string, void, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const silence = setTimeout(() => void reader.cancel(), MAX_SILENCE_MS);
    try {
      const { done, value } = await reader.read();
      if (done || signal.aborted) return;
      yield decoder.decode(value, { stream: true });
    } finally {
      clearTimeout(silence);
    }
  }
}

/** Waits, but no longer than until the network or the window comes back. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener('online', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener('online', done);
    signal.addEventListener('abort', done);
  });
}
