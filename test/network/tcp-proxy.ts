import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface TcpProxy {
  port: number;
  /** Drops all bytes of the open connections, without closing them. */
  freeze(): void;
  /** Does the same to new connections too, until `thaw`. */
  freezeAll(): void;
  thaw(): void;
  /** Delays all bytes, also of open connections, by this many milliseconds; 0 ends the delay. */
  slow(milliseconds: number): void;
  /** Drops the responses of the target on the open connections; requests still arrive. */
  dropResponses(): void;
  /** Holds all bytes back, also of new connections, until `release` forwards them. */
  hold(): void;
  release(): void;
  /** Resets each connection, new ones too, after this many more bytes of responses; null ends it. */
  resetAfter(bytes: number | null): void;
  /** Closes the open connections. */
  cut(): void;
  /** Refuses new connections and closes the open ones, until `accept`. */
  refuse(): Promise<void>;
  accept(): Promise<void>;
  close(): Promise<void>;
}

/** The two ends of a connection. */
class Pair {
  readonly #incoming: Socket;
  readonly #outgoing: Socket;
  readonly #delayMs: () => number;

  constructor(incoming: Socket, target: number, delayMs: () => number) {
    this.#incoming = incoming;
    this.#delayMs = delayMs;
    this.#outgoing = connect(target, '127.0.0.1');
    for (const socket of this.#both) socket.on('error', () => undefined).on('close', () => this.cut());
  }

  get #both(): [Socket, Socket] {
    return [this.#incoming, this.#outgoing];
  }

  onClose(listener: () => void): void {
    this.#incoming.once('close', listener);
  }

  pass(): void {
    this.#incoming.pipe(delayed(this.#delayMs)).pipe(this.#outgoing);
    this.#outgoing.pipe(delayed(this.#delayMs)).pipe(this.#incoming);
  }

  hold(): void {
    for (const socket of this.#both) socket.unpipe().pause();
  }

  freeze(): void {
    for (const socket of this.#both) socket.unpipe().resume();
  }

  dropResponses(): void {
    this.#outgoing.unpipe().resume();
  }

  resetAfter(bytes: number): void {
    let left = bytes;
    this.#outgoing.unpipe().on('data', (chunk: Buffer) => {
      const passed = chunk.subarray(0, left);
      left -= passed.length;
      this.#incoming.write(passed, () => {
        if (left === 0) for (const socket of this.#both) socket.resetAndDestroy();
      });
    });
    // A stream that was unpiped is paused.
    this.#outgoing.resume();
  }

  cut(): void {
    for (const socket of this.#both) socket.destroy();
  }
}

/** Starts a proxy to another port of this machine that simulates faults of a network. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const open = new Set<Pair>();
  let isFrozen = false;
  let isHeld = false;
  let resetBytes: number | null = null;
  let delayMs = 0;
  const server = createServer((incoming) => {
    const pair = new Pair(incoming, target, () => delayMs);
    open.add(pair);
    pair.onClose(() => open.delete(pair));
    if (isFrozen) return pair.freeze();
    if (isHeld) return pair.hold();
    pair.pass();
    if (resetBytes !== null) pair.resetAfter(resetBytes);
  });
  const each = (act: (pair: Pair) => void) => {
    for (const pair of open) act(pair);
  };
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const close = async () => {
    each((pair) => pair.cut());
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    freeze: () => each((pair) => pair.freeze()),
    freezeAll: () => {
      isFrozen = true;
      each((pair) => pair.freeze());
    },
    thaw: () => {
      isFrozen = false;
    },
    slow: (milliseconds) => {
      delayMs = milliseconds;
    },
    dropResponses: () => each((pair) => pair.dropResponses()),
    hold: () => {
      isHeld = true;
      each((pair) => pair.hold());
    },
    release: () => {
      isHeld = false;
      each((pair) => pair.pass());
    },
    resetAfter: (bytes) => {
      resetBytes = bytes;
      if (bytes !== null) each((pair) => pair.resetAfter(bytes));
    },
    cut: () => each((pair) => pair.cut()),
    refuse: close,
    accept: () => listen(port),
    close,
  };
}

/** Forwards chunks in order, after a delay in milliseconds. */
function delayed(delayMs: () => number): Transform {
  const waiting: Buffer[] = [];
  let ended: (() => void) | undefined;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (delayMs() === 0 && waiting.length === 0) stream.push(chunk);
      else {
        waiting.push(chunk);
        setTimeout(forwardNext, delayMs());
      }
      done();
    },
    flush(done) {
      if (waiting.length === 0) done();
      else ended = done;
    },
  });
  const forwardNext = () => {
    if (!stream.destroyed) stream.push(waiting.shift());
    if (waiting.length === 0) ended?.();
  };
  return stream;
}
