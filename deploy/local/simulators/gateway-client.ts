import { WebSocket } from 'ws';

type Payload = { op: number; t: string | null; s: number | null; d: Record<string, unknown> };

/** A raw client of the websocket for tests: it sends what it is told to, and hands out what it received in order. */
export class GatewayClient {
  /** The close code, when the connection ends. */
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;
  readonly #received: Payload[] = [];
  #wake: () => void = () => undefined;

  constructor(url: string) {
    this.#socket = new WebSocket(url);
    this.#socket.on('error', () => undefined);
    this.#socket.on('message', (data: Buffer) => {
      this.#received.push(JSON.parse(data.toString()) as Payload);
      this.#wake();
    });
    this.#opened = new Promise((resolve) => this.#socket.on('open', resolve));
    this.closed = new Promise((resolve) => this.#socket.on('close', resolve));
  }

  /** How many payloads were received and not handed out. */
  get waiting(): number {
    return this.#received.length;
  }

  send(op: number, d: unknown): void {
    this.sendText(JSON.stringify({ op, d }));
  }

  /** Sends text as soon as the connection is open. */
  sendText(text: string): void {
    void this.#opened.then(() => this.#socket.send(text));
  }

  /** The next payload; waits for it. */
  async next(): Promise<Payload> {
    for (;;) {
      const payload = this.#received.shift();
      if (payload) return payload;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The next payload with an opcode. */
  async op(op: number): Promise<Payload> {
    for (;;) {
      const payload = await this.next();
      if (payload.op === op) return payload;
    }
  }

  /** The next event, of a type if it is given. */
  async event(type?: string): Promise<Payload> {
    for (;;) {
      const payload = await this.op(0);
      if (type === undefined || payload.t === type) return payload;
    }
  }

  close(code: number): void {
    this.#socket.close(code);
  }

  /** Ends the connection without a close frame. */
  cut(): void {
    this.#socket.terminate();
  }
}
