// A process of its own that sends requests over kept connections and measures how long they take.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** What to send. */
export interface Load {
  host: string;
  /** Connections are spread over them. */
  ports: readonly number[];
  /** Whole HTTP/1.1 requests, sent in turn and over again, from where the load before this one stopped. */
  requests: string[];
  /** Requests a second; left out, each connection sends again as soon as it has its answer. */
  rate?: number;
  /** The most connections. */
  connections: number;
  /** Never sleeps at saturation: who answers a program that sleeps pays for waking it. Costs others a core. */
  isAwake?: boolean;
  seconds: number;
}

/** What came of it. */
export interface Measured {
  answered: number;
  seconds: number;
  /** How many answers had each status; 0 = the connection broke. */
  statuses: Record<number, number>;
  /** Milliseconds from when a request was due, so that a slow answer counts for all that had to wait behind it. */
  latency: { p50: number; p99: number; p999: number; max: number };
}

const LENGTH = /\r\ncontent-length: *(\d+)/i;
/** What is still under way at the end is given so long. */
const GRACE_MS = 10_000;

/** One kept connection with at most one request under way. */
class Connection {
  readonly #socket: Socket;
  /** Of whoever sends on it. */
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
  if (length === undefined && !head.startsWith('HTTP/1.1 304')) throw new Error(`an answer without a length:\n${head}`);
  return Number(length ?? 0);
}

/** What the last load has left open, and where: a warm-up opens connections for what is measured after it. */
let kept: { target: string; connections: Connection[] } = { target: '', connections: [] };

/** How many requests all loads have sent: were each to begin at the first, its guild would soon be at its limit. */
let sent = 0;

const targetOf = ({ host, ports }: Load): string => `${host} ${ports.join()}`;

/** Sends one load until its time is over, and waits for the answers that are under way then. */
class Run {
  readonly #load: Load;
  readonly #free: Connection[] = [];
  readonly #waiting: { request: string; due: number }[] = [];
  readonly #statuses: Record<number, number> = {};
  readonly #latencies: number[] = [];
  readonly #started = performance.now();
  #open = 0;
  #underWay = 0;
  #whenIdle: (() => void) | undefined;

  constructor(load: Load) {
    this.#load = load;
    const { target, connections } = kept;
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
    // Who comes later than that must not send in the time of the next load.
    this.#waiting.length = 0;
    kept = { target: targetOf(this.#load), connections: this.#free };
    return { answered, seconds, statuses: this.#statuses, latency: percentiles(this.#latencies) };
  }

  get #end(): number {
    return this.#started + this.#load.seconds * 1000;
  }

  /** Each connection sends its next request when it has its answer. */
  async #saturate(): Promise<void> {
    const connections: Connection[] = [];
    for (let free = this.#takeFree(); free; free = this.#takeFree()) connections.push(free);
    const missing = Array.from({ length: this.#load.connections - this.#open }, () => this.#connect());
    connections.push(...(await Promise.all(missing)));
    for (const connection of connections) this.#send(connection, this.#next(), performance.now());
    if (this.#load.isAwake) while (performance.now() < this.#end) await nextTurn();
    else await sleep(this.#end - performance.now());
  }

  /** Requests are due at a constant rate, whether earlier ones were answered or not. */
  async #pace(rate: number): Promise<void> {
    for (let count = 0; ; ) {
      // On whole milliseconds, which is as fine as timers are.
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

  /** Resolves once nothing is under way or waits. */
  #idle(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenIdle = resolve;
    this.#tellIdle();
    return promise;
  }

  #tellIdle(): void {
    if (this.#underWay + this.#waiting.length === 0) this.#whenIdle?.();
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

  /** A connection that has nothing to do and that the other side has not closed. */
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

  /** Gives a connection the request that has waited longest. */
  #use(connection: Connection): void {
    const first = this.#waiting.shift();
    if (first) this.#send(connection, first.request, first.due);
    else this.#free.push(connection);
  }

  #send(connection: Connection, request: string, due: number): void {
    this.#underWay += 1;
    connection.send(request, due);
  }

  readonly #answered = (connection: Connection, status: number, due: number): void => {
    const now = performance.now();
    this.#underWay -= 1;
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
    this.#latencies.push(now - due);
    if (!connection.isOpen) this.#open -= 1;
    else if (this.#load.rate === undefined && now < this.#end) this.#send(connection, this.#next(), now);
    else this.#use(connection);
    this.#tellIdle();
  };
}

function percentiles(latencies: number[]): Measured['latency'] {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) };
}

// Started by load.ts; told what to send by its parent.
if (process.send) {
  process.on('message', (load: Load) => {
    void new Run(load).measure().then((measured) => process.send?.(measured));
  });
  process.on('disconnect', () => process.exit());
}
