import type { WebSocket } from 'ws';
import { isRecord } from '../../routes.ts';
import { type Refusal, Refused } from './refused.ts';
import type { Receiver, Session } from './session.ts';

const MAX_PAYLOAD_BYTES = 4096;
/** How much may wait for a client that does not read. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** A client may be late with a heartbeat by this factor of the interval. */
const PATIENCE = 1.5;

/** What the gateway does with the two payloads that start or continue a session. */
export interface ConnectionHandlers {
  identify: (data: Record<string, unknown>, connection: Connection) => Session | undefined;
  resume: (data: Record<string, unknown>, connection: Connection) => Session | undefined;
  /** Called when the connection is gone; `isOver` says that the client ended its session too. */
  closed: (connection: Connection, isOver: boolean) => void;
  /** Counts a payload; false if there were too many. */
  admitPayload: (connection: Connection) => boolean;
}

/** One websocket: its greeting, its heartbeats, and the payloads of the client. */
export class Connection implements Receiver {
  session: Session | undefined;
  /** A silent connection stays open and sends nothing, not even acknowledgements. */
  isSilent = false;
  readonly #socket: WebSocket;
  readonly #handlers: ConnectionHandlers;
  readonly #intervalMs: number;
  #deadline: NodeJS.Timeout | undefined;

  constructor(socket: WebSocket, intervalMs: number, handlers: ConnectionHandlers) {
    this.#socket = socket;
    this.#intervalMs = intervalMs;
    this.#handlers = handlers;
    socket.on('message', (data: Buffer) => this.#receive(data));
    // The library reports invalid frames here and then closes the connection.
    socket.on('error', () => undefined);
    socket.on('close', (code: number) => this.#closed(code));
    this.send({ op: 10, d: { heartbeat_interval: intervalMs }, s: null, t: null });
    this.#awaitHeartbeat();
  }

  send(payload: object): void {
    if (this.isSilent) return;
    this.#socket.send(JSON.stringify(payload));
    if (this.#socket.bufferedAmount > MAX_WAITING_BYTES) this.cut();
  }

  /** Ends the connection without a close frame, as a lost network does. */
  cut(): void {
    this.#socket.terminate();
  }

  close(code: number, reason = ''): void {
    this.#socket.close(code, reason);
  }

  /** Tells the client that its session is over, or that it may try to resume. */
  invalidate(resumable: boolean): void {
    this.send({ op: 9, d: resumable, s: null, t: null });
  }

  /** Asks the client to connect again and resume. */
  askToReconnect(): void {
    this.send({ op: 7, d: null, s: null, t: null });
  }

  #receive(data: Buffer): void {
    try {
      if (data.length > MAX_PAYLOAD_BYTES) throw new Refused('decodeError');
      if (!this.#handlers.admitPayload(this)) throw new Refused('rateLimited');
      this.#handle(decodePayload(data));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.close(error.code, error.message);
    }
  }

  #handle({ op, d }: { op: unknown; d: unknown }): void {
    if (op === 1) return this.#beat();
    const data = isRecord(d) ? d : {};
    if (op === 2 || op === 6) {
      if (this.session) throw new Refused('alreadyAuthenticated');
      this.session = op === 2 ? this.#handlers.identify(data, this) : this.#handlers.resume(data, this);
      return;
    }
    if (!this.session) throw new Refused('notAuthenticated');
    // Presence, voice state and the request of members are accepted without effect.
    if (op !== 3 && op !== 4 && op !== 8) throw new Refused('unknownOpcode');
  }

  #beat(): void {
    this.#awaitHeartbeat();
    this.send({ op: 11, d: null, s: null, t: null });
  }

  #awaitHeartbeat(): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.close(4000, 'No heartbeat'), this.#intervalMs * PATIENCE);
    this.#deadline.unref();
  }

  #closed(code: number): void {
    clearTimeout(this.#deadline);
    // These two codes of a client end its session; after any other it can be resumed.
    this.#handlers.closed(this, code === 1000 || code === 1001);
  }
}

function decodePayload(data: Buffer): { op: unknown; d: unknown } {
  try {
    const payload: unknown = JSON.parse(data.toString());
    if (isRecord(payload)) return { op: payload['op'], d: payload['d'] };
  } catch {
    // Answered below like any other payload that is not an object.
  }
  throw new Refused('decodeError' satisfies Refusal);
}
