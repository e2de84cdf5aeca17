import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface TcpProxy {
  port: number;
  /** From now on nothing passes on the connections that are open, and nobody is told. */
  freeze(): void;
  /** Also new connections are taken and left without an answer, until `thaw`. */
  freezeAll(): void;
  thaw(): void;
  /** From now on everything, also on the connections that are open, is this many milliseconds on its way; 0 = none. */
  slow(milliseconds: number): void;
  /** From now on what the target answers on the connections that are open is lost; what it is asked still arrives. */
  loseAnswers(): void;
  /** From now on everything is kept, on new connections too; `release` passes it all on. */
  hold(): void;
  release(): void;
  /** From now on each connection, new ones too, is reset once so many bytes more have come back; null ends it. */
  resetAfter(bytes: number | null): void;
  /** Ends the connections that are open. */
  cut(): void;
  /** From now on connections are refused, and those that are open are ended, until `accept`. */
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

  loseAnswers(): void {
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
    // What was taken off its pipe stands still.
    this.#outgoing.resume();
  }

  cut(): void {
    for (const socket of this.#both) socket.destroy();
  }
}

/** Passes bytes to another port of this machine until it is told otherwise, like a network that loses packets. */
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
    loseAnswers: () => each((pair) => pair.loseAnswers()),
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

/** Hands on what it is given, in order, so many milliseconds later. */
function delayed(delayMs: () => number): Transform {
  const waiting: Buffer[] = [];
  let ended: (() => void) | undefined;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (delayMs() === 0 && waiting.length === 0) stream.push(chunk);
      else {
        waiting.push(chunk);
        setTimeout(handOn, delayMs());
      }
      done();
    },
    flush(done) {
      if (waiting.length === 0) done();
      else ended = done;
    },
  });
  const handOn = () => {
    if (!stream.destroyed) stream.push(waiting.shift());
    if (waiting.length === 0) ended?.();
  };
  return stream;
}
