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
  /** Ends the connections that are open. */
  cut(): void;
  close(): Promise<void>;
}

/** Passes bytes to another port of this machine until it is told to keep them, like a network that loses packets. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const open = new Set<Socket>();
  const targets = new WeakSet<Socket>();
  let isFrozen = false;
  let delayMs = 0;
  const server = createServer((incoming) => {
    const outgoing = connect(target, '127.0.0.1');
    const pair = [incoming, outgoing] as const;
    targets.add(outgoing);
    for (const socket of pair) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        for (const other of pair) other.destroy();
      });
    }
    if (isFrozen) return;
    incoming.pipe(delayed(() => delayMs)).pipe(outgoing);
    outgoing.pipe(delayed(() => delayMs)).pipe(incoming);
  });
  const freeze = () => {
    for (const socket of open) socket.unpipe().resume();
  };
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    freeze,
    freezeAll: () => {
      isFrozen = true;
      freeze();
    },
    thaw: () => {
      isFrozen = false;
    },
    slow: (milliseconds) => {
      delayMs = milliseconds;
    },
    loseAnswers: () => {
      for (const socket of open) if (targets.has(socket)) socket.unpipe().resume();
    },
    cut,
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
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
