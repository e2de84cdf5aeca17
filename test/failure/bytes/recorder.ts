import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { PRINCIPAL_HEADER } from '#kit/security/principal.ts';
import { type Message, parseMessage, valuesOf } from './http1.ts';

/** A received request with its time. */
export interface Arrival extends Message {
  /** Unix milliseconds. */
  at: number;
}

/** The part of a response that identifies its request. */
export function fingerprint({ method, target, body }: Pick<Message, 'method' | 'target' | 'body'>): string {
  return createHash('sha256').update(`${method} ${target}\n`).update(body).digest('hex');
}

/**
 * An upstream that records each request byte for byte and responds with its fingerprint: immediately, or
 * when the test releases it, if the target contains a wait.
 */
export class Recorder {
  /** Requests by the guild of the signed principal, which no client can choose. */
  readonly arrivals = new Map<string, Arrival[]>();
  /** Received bytes that are not a request of the gateway. */
  readonly faults: string[] = [];
  /** Sends the responses of waiting polls, in the order of their arrival. */
  readonly held: (() => void)[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #answered = 0;

  constructor() {
    this.#server = createServer({ noDelay: true }, (socket) => this.#serve(socket));
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    let unread: Buffer = Buffer.alloc(0);
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes: Buffer) => {
      unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes]);
      for (;;) {
        const parsed = parseMessage(unread, 0);
        if (parsed.kind === 'invalid') {
          this.faults.push(`${parsed.why}: ${unread.toString('latin1', 0, 300)}`);
          socket.destroy();
        }
        if (parsed.kind !== 'message') return;
        unread = unread.subarray(parsed.end);
        this.#record(parsed.message);
        const answer = () => this.#answer(socket, parsed.message);
        if (/[?&]wait=/.test(parsed.message.target)) this.held.push(answer);
        else answer();
      }
    });
  }

  #record(message: Message): void {
    const guild = guildOf(message);
    if (guild === undefined) {
      this.faults.push(`without a signed principal: ${message.method} ${message.target}`);
      return;
    }
    const arrival = { ...message, at: Date.now() };
    const before = this.arrivals.get(guild);
    if (before) before.push(arrival);
    else this.arrivals.set(guild, [arrival]);
  }

  /** Different forms of the same response, because the relayed response must not depend on them. */
  #answer(socket: Socket, message: Message): void {
    const body = JSON.stringify({ status: 'success', code: 200, message: 'ok', data: { seen: fingerprint(message) } });
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
    const form = this.#answered++ % 4;
    const chunked = `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const plain = `Content-Length: ${body.length}\r\n\r\n${body}`;
    if (message.method === 'HEAD') socket.write(`${head}Content-Length: ${body.length}\r\n\r\n`);
    else if (form === 1) socket.write(head + chunked);
    else if (form === 2) socket.end(`${head}Connection: close\r\n${plain}`);
    else socket.write(head + plain);
  }
}

function guildOf(message: Message): string | undefined {
  const [signed = '', ...more] = valuesOf(message, PRINCIPAL_HEADER);
  if (more.length > 0) return undefined;
  try {
    const { guildId } = JSON.parse(Buffer.from(signed.split('.')[0] ?? '', 'base64url').toString()) as {
      guildId: unknown;
    };
    return typeof guildId === 'string' ? guildId : undefined;
  } catch {
    return undefined;
  }
}
