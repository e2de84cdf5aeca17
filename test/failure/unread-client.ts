import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The server's sockets in this process, by the client's address and port. */
const serverSides = new Map<string, { socket: Socket; response: ServerResponse; requests: number }>();
subscribe('http.server.request.start', (message) => {
  const { socket, response } = message as { socket: Socket; response: ServerResponse };
  const client = `${socket.remoteAddress}:${socket.remotePort}`;
  serverSides.set(client, { socket, response, requests: (serverSides.get(client)?.requests ?? 0) + 1 });
});

/** If no byte has moved for this long, the buffers are full until the client reads. */
const STUCK_MS = 200;
/** More than enough to fill the buffers of both sides, up to 36 MB on Linux, with small responses. */
const MAX_REQUESTS = 500_000;

/** A client of a server in this process: it sends requests and never reads a byte. */
export class UnreadClient {
  readonly #socket: Socket;
  #sent = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Connects to `host:port` from an address of 127.0.0.0/8. */
  static async open(address: string, from: string): Promise<UnreadClient> {
    const [host = '', port = ''] = address.split(':');
    const socket = connect({ host, port: Number(port), localAddress: from });
    // Before it connects, so that Node does not read ahead.
    socket.pause();
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return new UnreadClient(socket);
  }

  /** The server's socket. */
  get serverSide(): Socket {
    return this.#newest.socket;
  }

  /**
   * Sends requests, each after the operating system has accepted the previous response, until a response is
   * stuck in the server. Returns the number of requests sent.
   */
  async fill(request: () => string): Promise<number> {
    while (this.#sent < MAX_REQUESTS) {
      this.#socket.write(request());
      this.#sent++;
      while ((serverSides.get(this.#name)?.requests ?? 0) < this.#sent) await nextTurn();
      if (await this.#isStuck()) return this.#sent;
    }
    throw new Error(`${MAX_REQUESTS} responses filled no buffer`);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** True if the newest response is stuck in the server's buffers. */
  async #isStuck(): Promise<boolean> {
    const { socket, response } = this.#newest;
    let pending = socket.writableLength;
    for (let since = performance.now(); performance.now() - since < STUCK_MS; await nextTurn()) {
      if (response.writableFinished) return false;
      if (socket.destroyed) throw new Error('the server has closed the connection');
      if (socket.writableLength === pending && pending > 0) continue;
      pending = socket.writableLength;
      since = performance.now();
    }
    return true;
  }

  get #name(): string {
    return `${this.#socket.localAddress}:${this.#socket.localPort}`;
  }

  get #newest() {
    const newest = serverSides.get(this.#name);
    if (!newest) throw new Error('the server has no such connection');
    return newest;
  }
}
