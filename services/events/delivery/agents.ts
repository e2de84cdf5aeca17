import { AsyncLocalStorage } from 'node:async_hooks';
import { type ClientRequestArgs, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Target } from './connect.ts';

/** Opens a connection to a host; gives up when the signal is aborted. */
export type Open = (target: Target, signal: AbortSignal) => Promise<Socket>;
type Callback = (error: Error | null, socket: Duplex) => void;

/** The maximum number of idle connections of each agent, to one host and port, and to all. */
const MAX_IDLE_PER_HOST = 8;
const MAX_IDLE = 64;
const IDLE_TIMEOUT_MS = 10_000;

/** The signal of the request for which an agent opens a connection; agents do not pass it on. */
export const connectingFor = new AsyncLocalStorage<AbortSignal>();

async function connectWith(open: Open, isSecure: boolean, options: ClientRequestArgs, callback: Callback) {
  const signal = connectingFor.getStore();
  if (!signal) throw new Error('a request has no signal');
  const target = { host: String(options.host), port: Number(options.port), isSecure };
  const opened = await open(target, signal).catch((error: Error) => error);
  // The types require a socket, but node:http ignores it after an error.
  if (opened instanceof Error) callback(opened, undefined as never);
  else callback(null, opened);
}

const isRoomForIdle = ({ freeSockets }: HttpAgent) =>
  Object.values(freeSockets).reduce((sum, sockets = []) => sum + sockets.length, 0) < MAX_IDLE;

/** The types omit the result of `keepSocketAlive`: false if the connection must be closed, as the server may have asked. */
const keepsAlive = (result: unknown) => result === true;

/**
 * An agent for `http:` URLs whose connections `open` opens. Agents reuse a connection only for the host name and port
 * for which it was opened.
 */
export class PlainAgent extends HttpAgent {
  readonly #open: Open;

  constructor(open: Open, { keepAlive }: { keepAlive: boolean }) {
    super({ keepAlive, maxFreeSockets: MAX_IDLE_PER_HOST, timeout: IDLE_TIMEOUT_MS });
    this.#open = open;
  }

  override createConnection(options: ClientRequestArgs, callback: Callback): undefined {
    void connectWith(this.#open, false, options, callback);
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return isRoomForIdle(this) && keepsAlive(super.keepSocketAlive(socket));
  }
}

/** The same for `https:` URLs. */
export class SecureAgent extends HttpsAgent {
  readonly #open: Open;

  constructor(open: Open, { keepAlive }: { keepAlive: boolean }) {
    super({ keepAlive, maxFreeSockets: MAX_IDLE_PER_HOST, timeout: IDLE_TIMEOUT_MS });
    this.#open = open;
  }

  override createConnection(options: ClientRequestArgs, callback: Callback): undefined {
    void connectWith(this.#open, true, options, callback);
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return isRoomForIdle(this) && keepsAlive(super.keepSocketAlive(socket));
  }
}
