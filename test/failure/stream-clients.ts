import { type ChildProcess, spawn } from 'node:child_process';
import { EventSource } from 'eventsource';

/** A client that follows the stream of a guild, and connects again whenever the stream ends. */
export interface StreamClient {
  name: string;
  /** The seqs of all events that it has received. */
  readonly seqs: readonly number[];
  /** How often it has connected. */
  readonly connections: number;
  /** Why it has given up, if it has. */
  readonly failure: string | undefined;
  close(): void;
}

export interface StreamTarget {
  api: string;
  guild: string;
  key: string;
  /** The types of the events to follow. */
  type: string;
}

/** The package `eventsource`, which sends headers by its option `fetch`. */
export function followWithPackage({ api, guild, key, type }: StreamTarget): StreamClient {
  const seqs: number[] = [];
  const state = { connections: 0 };
  const source = new EventSource(`${api}/events/stream`, {
    fetch: (url, options) =>
      fetch(url, { ...options, headers: { ...options.headers, 'x-api-key': key, 'x-guild-id': guild } }),
  });
  source.addEventListener('open', () => state.connections++);
  source.addEventListener(type, (event) => {
    seqs.push((JSON.parse(String(event.data)) as { seq: number }).seq);
  });
  return {
    name: 'eventsource',
    seqs,
    get connections() {
      return state.connections;
    },
    get failure() {
      return source.readyState === source.CLOSED ? 'the client has closed the stream' : undefined;
    },
    close: () => source.close(),
  };
}

/** curl in a loop, as a shell script would follow a stream. */
export function followWithCurl({ api, guild, key }: StreamTarget): StreamClient {
  const seqs: number[] = [];
  const state: { connections: number; retryMs: number; child?: ChildProcess; isClosed: boolean } = {
    connections: 0,
    retryMs: 500,
    isClosed: false,
  };
  const connect = () => {
    if (state.isClosed) return;
    state.connections++;
    const last = seqs.at(-1);
    const headers = [`X-API-Key: ${key}`, `X-Guild-ID: ${guild}`, ...(last ? [`Last-Event-ID: ${last}`] : [])];
    const child = spawn('curl', ['-sN', '--fail', ...headers.flatMap((line) => ['-H', line]), `${api}/events/stream`]);
    state.child = child;
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const frames = (rest + text).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const [, id] = /^id: (\d+)\nevent/m.exec(frame) ?? [];
        if (id !== undefined) seqs.push(Number(id));
        const [, retry] = /^retry: (\d+)$/m.exec(frame) ?? [];
        if (retry !== undefined) state.retryMs = Number(retry);
      }
    });
    child.once('close', () => setTimeout(connect, state.retryMs));
  };
  connect();
  return {
    name: 'curl',
    seqs,
    get connections() {
      return state.connections;
    },
    // It tries again after each error.
    failure: undefined,
    close: () => {
      state.isClosed = true;
      state.child?.kill();
    },
  };
}
