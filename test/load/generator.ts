// A process that sends requests over persistent connections and measures their latency.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** The load to send. */
export interface Load {
  host: string;
  /** Connections are spread over them. */
  ports: readonly number[];
  /** Whole HTTP/1.1 requests, sent in a cycle that continues where the previous load stopped. */
  requests: string[];
  /** Requests per second. Default: each connection sends its next request when it has received the response. */
  rate?: number;
  /** The most connections. */
  connections: number;
  /**
   * True: never sleeps at saturation, because otherwise the measured program pays for waking the generator. It occupies
   * a core all the time then.
   */
  isAwake?: boolean;
  seconds: number;
}

/** The result of a load. */
export interface Measured {
  answered: number;
  seconds: number;
  /** The number of responses by status; 0 = the connection failed. */
  statuses: Record<number, number>;
  /** Milliseconds since a request was due, so that a slow response also counts for the requests that it delays. */
  latency: { p50: number; p99: number; p999: number; max: number };
}

const LENGTH = /\r\ncontent-length: *(\d+)/i;
/** The time that requests in flight have at the end of a load. */
const GRACE_MS = 10_000;

/** A persistent connection with at most one request in flight. */
class Connection {
  readonly #socket: Socket;
  /** Called with each response. */
  answered: (connection: Connection, status: number, due: number) => void;
  #buffered: Buffer | undefined;
  #due = 0;
  #busy = false;

  constructor(host: string, port: number, answered: (connection: Connection, status: number, due: number) => void) {
    this.answered = answered;
    this.#socket = connect({ host, port, noDelay: true });
    this.#socket.on('data', (data: Buffer) => this.#read(data));
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => this.#settle(0));
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  async open(): Promise<void> {
    await once(this.#socket, 'connect');
  }

  send(request: string, due: number): void {
    this.#due = due;
    this.#busy = true;
    this.#socket.write(request, 'latin1');
  }

  end(): void {
    this.#socket.destroy();
  }

  #read(data: Buffer): void {
    const all = this.#buffered ? Buffer.concat([this.#buffered, data]) : data;
    const head = all.indexOf('\r\n\r\n');
    const length = head < 0 ? 0 : lengthOf(all.toString('latin1', 0, head));
    if (head < 0 || all.length < head + 4 + length) {
      this.#buffered = all;
      return;
    }
    this.#buffered = undefined;
    this.#settle(Number(all.toString('latin1', 9, 12)));
  }

  #settle(status: number): void {
    if (!this.#busy) return;
    this.#busy = false;
    this.answered(this, status, this.#due);
  }
}

function lengthOf(head: string): number {
  const length = LENGTH.exec(head)?.[1];
  if (length === undefined && !head.startsWith('HTTP/1.1 304'))
    throw new Error(`a response without a length:\n${head}`);
  return Number(length ?? 0);
}

/** The open connections of the last load, which the next load to the same target uses: a warm-up opens them. */
let open: { target: string; connections: Connection[] } = { target: '', connections: [] };

/** The requests sent by all loads. The next load continues from here, so that no guild reaches its limit. */
let sent = 0;

const targetOf = ({ host, ports }: Load): string => `${host} ${ports.join()}`;

/** Sends one load until its time is over, and waits for the requests in flight. */
class Run {
  readonly #load: Load;
  readonly #free: Connection[] = [];
  readonly #waiting: { request: string; due: number }[] = [];
  readonly #statuses: Record<number, number> = {};
  readonly #latencies: number[] = [];
  readonly #started = performance.now();
  #open = 0;
  #inFlight = 0;
  #whenIdle: (() => void) | undefined;

  constructor(load: Load) {
    this.#load = load;
    const { target, connections } = open;
    for (const connection of connections) {
      if (target === targetOf(load) && connection.isOpen) this.#adopt(connection);
      else connection.end();
    }
  }

  async measure(): Promise<Measured> {
    if (this.#load.rate === undefined) await this.#saturate();
    else await this.#pace(this.#load.rate);
    const [answered, seconds] = [this.#latencies.length, (performance.now() - this.#started) / 1000];
    await Promise.race([this.#idle(), sleep(GRACE_MS, undefined, { ref: false })]);
    // Requests that are still queued must not be sent during the next load.
    this.#waiting.length = 0;
    open = { target: targetOf(this.#load), connections: this.#free };
    return { answered, seconds, statuses: this.#statuses, latency: percentiles(this.#latencies) };
  }

  get #end(): number {
    return this.#started + this.#load.seconds * 1000;
  }

  /** Each connection sends its next request when it has received the response. */
  async #saturate(): Promise<void> {
    const connections: Connection[] = [];
    for (let free = this.#takeFree(); free; free = this.#takeFree()) connections.push(free);
    const missing = Array.from({ length: this.#load.connections - this.#open }, () => this.#connect());
    connections.push(...(await Promise.all(missing)));
    for (const connection of connections) this.#send(connection, this.#next(), performance.now());
    if (this.#load.isAwake) while (performance.now() < this.#end) await nextTurn();
    else await sleep(this.#end - performance.now());
  }

  /** Requests are due at a constant rate, whether or not earlier ones have their response. */
  async #pace(rate: number): Promise<void> {
    for (let count = 0; ; ) {
      // Due times are whole milliseconds, the resolution of timers.
      for (let due = this.#due(count, rate); due <= performance.now(); due = this.#due(count, rate)) {
        if (due >= this.#end) return;
        count += 1;
        this.#waiting.push({ request: this.#next(), due });
        const connection = this.#takeFree();
        if (connection) this.#use(connection);
        else if (this.#open < this.#load.connections) void this.#connect().then((fresh) => this.#use(fresh));
      }
      await sleep(1);
    }
  }

  /** Resolves once no request is in flight or queued. */
  #idle(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenIdle = resolve;
    this.#checkIdle();
    return promise;
  }

  #checkIdle(): void {
    if (this.#inFlight + this.#waiting.length === 0) this.#whenIdle?.();
  }

  #due(count: number, rate: number): number {
    return Math.ceil(this.#started + (count * 1000) / rate);
  }

  #next(): string {
    sent += 1;
    return this.#load.requests[sent % this.#load.requests.length] as string;
  }

  async #connect(): Promise<Connection> {
    const { host, ports } = this.#load;
    const connection = new Connection(host, ports[this.#open % ports.length] as number, this.#answered);
    this.#open += 1;
    await connection.open();
    return connection;
  }

  /** An idle connection that is still open. */
  #takeFree(): Connection | undefined {
    for (let connection = this.#free.pop(); connection; connection = this.#free.pop()) {
      if (connection.isOpen) return connection;
      this.#open -= 1;
    }
    return undefined;
  }

  #adopt(connection: Connection): void {
    if (this.#open === this.#load.connections) return connection.end();
    connection.answered = this.#answered;
    this.#open += 1;
    this.#free.push(connection);
  }

  /** Sends the oldest queued request on a connection. */
  #use(connection: Connection): void {
    const first = this.#waiting.shift();
    if (first) this.#send(connection, first.request, first.due);
    else this.#free.push(connection);
  }

  #send(connection: Connection, request: string, due: number): void {
    this.#inFlight += 1;
    connection.send(request, due);
  }

  readonly #answered = (connection: Connection, status: number, due: number): void => {
    const now = performance.now();
    this.#inFlight -= 1;
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
    this.#latencies.push(now - due);
    if (!connection.isOpen) this.#open -= 1;
    else if (this.#load.rate === undefined && now < this.#end) this.#send(connection, this.#next(), now);
    else this.#use(connection);
    this.#checkIdle();
  };
}

function percentiles(latencies: number[]): Measured['latency'] {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) };
}

// Started by load.ts, which sends the loads as messages.
if (process.send) {
  process.on('message', (load: Load) => {
    void new Run(load).measure().then((measured) => process.send?.(measured));
  });
  process.on('disconnect', () => process.exit());
}
