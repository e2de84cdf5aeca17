import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningServer } from '../server.ts';
import { type Verdict, verify } from './signature.ts';

const MAX_BODY_BYTES = 64 * 1024;
const MAX_REMEMBERED = 100;
const MAX_DELAY_MS = 60_000;

/** A delivery as the receiver prints and remembers it. */
export interface Received {
  webhook: string;
  id: string;
  type: string;
  seq: number | null;
  guild_id: string | null;
  signature: Verdict;
  /** The status that the receiver responded with. */
  status: number;
  data: unknown;
}

export interface ReceiverOptions {
  port?: number | undefined;
  host?: string | undefined;
  /** Prints one line for each delivery. */
  print?: ((line: string) => void) | undefined;
}

/**
 * A receiver of webhooks, as a community would run it. `POST /hooks/<name>` receives a delivery; `?status=` and
 * `?delay_ms=` make it fail or respond late. `PUT /__secrets/<name>` with `{"secret": "whsec_…"}` sets the secret with
 * which signatures are verified, `GET /__received/<name>` returns the latest deliveries.
 */
export async function startReceiver(options: ReceiverOptions = {}): Promise<RunningServer> {
  const { port = 0, host = '127.0.0.1', print = () => undefined } = options;
  const receiver = new Receiver(print);
  const server = createServer((request, response) => {
    receiver.respond(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

class Receiver {
  readonly #print: (line: string) => void;
  readonly #secrets = new Map<string, string>();
  readonly #received = new Map<string, Received[]>();

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(`http://localhost${request.url}`);
    const [, area, name = ''] = pathname.split('/');
    const body = await readBody(request);
    const call = `${request.method} ${area}`;
    if (call === 'POST hooks' && name !== '') return this.#receive(request, response, { name, body, searchParams });
    if (call === 'PUT __secrets' && name !== '') return this.#setSecret(response, name, body);
    if (call === 'GET __received') return send(response, 200, { received: this.#received.get(name) ?? [] });
    send(response, 404, { error: 'send deliveries to POST /hooks/<name>' });
  }

  async #receive(
    { headers }: IncomingMessage,
    response: ServerResponse,
    { name, body, searchParams }: { name: string; body: string; searchParams: URLSearchParams },
  ): Promise<void> {
    const header = (name: string) => String(headers[name] ?? '');
    const id = header('webhook-id');
    const delivery = { id, timestamp: header('webhook-timestamp'), signature: header('webhook-signature'), body };
    const signature = verify(this.#secrets.get(name), delivery, Date.now() / 1000);
    const event = parsed(body);
    const status = Number(searchParams.get('status') ?? (signature === 'invalid' ? 401 : 204));
    const { type = '', seq = null, guild_id = null, data = null } = event;
    const received = { webhook: name, id, type, seq, guild_id, signature, status, data };
    this.#received.set(name, [...(this.#received.get(name) ?? []), received].slice(-MAX_REMEMBERED));
    this.#print(JSON.stringify({ level: 'info', show: true, msg: 'webhook received', ...received }));
    const delayMs = Math.min(Number(searchParams.get('delay_ms') ?? 0), MAX_DELAY_MS);
    if (delayMs > 0) await sleep(delayMs, undefined, { ref: false });
    response.writeHead(status).end();
  }

  #setSecret(response: ServerResponse, name: string, body: string): void {
    const { secret } = parsed(body);
    if (typeof secret !== 'string') return send(response, 400, { error: 'send {"secret": "whsec_…"}' });
    this.#secrets.set(name, secret);
    send(response, 200, { webhook: name });
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_BODY_BYTES) throw new Error('the body is too large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

type Parsed = Partial<{ type: string; seq: number; guild_id: string; data: unknown; secret: string }>;

function parsed(body: string): Parsed {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
