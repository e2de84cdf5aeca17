import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { listening } from '../network/listening.ts';

export interface Recorded {
  /** The example that sent the request. */
  step: string;
  method: string;
  path: string;
  status: number;
}

const STEP_PATH = '/__step/';

/**
 * A proxy in front of the gateway that records the status of each response. A request to `stepUrl(name)` is answered
 * here: it says which example sends the requests after it.
 */
export class Recorder {
  readonly recorded: Recorded[] = [];
  #step = '';
  #server: { url: string; close: () => void } | undefined;

  async start(gateway: string): Promise<void> {
    this.#server = await listening(createServer((request, response) => this.#handle(request, response, gateway)));
  }

  get url(): string {
    if (!this.#server) throw new Error('the recorder has not started');
    return this.#server.url;
  }

  stepUrl(name: string): string {
    return `${this.url}${STEP_PATH}${name}`;
  }

  close(): void {
    this.#server?.close();
  }

  #handle(request: IncomingMessage, response: ServerResponse, gateway: string): void {
    const { method = '', url: path = '', headers } = request;
    if (path.startsWith(STEP_PATH)) {
      this.#step = path.slice(STEP_PATH.length);
      response.writeHead(204).end();
      return;
    }
    const step = this.#step;
    const forwarded = httpRequest(gateway + path, { method, headers, agent: false }, (received) => {
      this.recorded.push({ step, method, path, status: received.statusCode ?? 0 });
      response.writeHead(received.statusCode ?? 0, received.headers);
      received.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    // The reader of a stream of events ends it by closing the connection.
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  }
}
