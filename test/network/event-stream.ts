import { request as httpRequest, type IncomingMessage } from 'node:http';

/** One frame of a stream: its fields, or a comment without fields. */
export interface Frame {
  id?: string;
  event?: string;
  data?: string;
  retry?: string;
}

/** An open stream of server-sent events, as a client without any library reads it. */
export class StreamReader {
  readonly response: IncomingMessage;
  /** All frames that were received so far. */
  readonly frames: Frame[] = [];
  /** What was received after the last whole frame. */
  rest = '';
  hasEnded = false;
  /** True if the stream was cut off instead of ended. */
  isCut = false;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#read(text));
    response.on('end', () => (this.hasEnded = true));
    response.on('error', () => (this.hasEnded = this.isCut = true));
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  /** The seqs of the events that were received. */
  get seqs(): number[] {
    return this.events.map(({ id }) => Number(id));
  }

  get events(): Frame[] {
    return this.frames.filter(({ data }) => data !== undefined);
  }

  /** The last `retry` field that was received, in milliseconds. */
  get retry(): number | undefined {
    const last = this.frames.findLast(({ retry }) => retry !== undefined)?.retry;
    return last === undefined ? undefined : Number(last);
  }

  /** Reads nothing more until the response is resumed. */
  pause(): void {
    this.response.pause();
  }

  close(): void {
    this.response.destroy();
  }

  #read(text: string): void {
    const parts = (this.rest + text).split('\n\n');
    this.rest = parts.pop() ?? '';
    for (const part of parts) this.frames.push(readFrame(part));
  }
}

function readFrame(text: string): Frame {
  const lines = text.split('\n').filter((line) => !line.startsWith(':'));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
}

/** Opens a stream on a connection of its own. Resolves when the head of the response has arrived, whatever it is. */
export function openStream(url: string, headers: Record<string, string> = {}): Promise<StreamReader> {
  const { promise, resolve, reject } = Promise.withResolvers<StreamReader>();
  const request = httpRequest(url, { headers, agent: false }, (response) => resolve(new StreamReader(response)));
  request.on('error', reject);
  request.end();
  return promise;
}
