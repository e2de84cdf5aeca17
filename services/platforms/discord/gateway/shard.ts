import { setTimeout as sleep } from 'node:timers/promises';
import {
  DefaultWebSocketManagerOptions,
  type FetchingStrategyOptions,
  type IContextFetchingStrategy,
  type SessionInfo,
  WebSocketShard,
  WebSocketShardEvents,
  WebSocketShardStatus,
} from '@discordjs/ws';
import { backoffMs } from '#kit/resilience/backoff.ts';

/** GUILDS (guilds and their roles) and GUILD_MEMBERS (members; an operator has to enable it for the bot). */
export const INTENTS = (1 << 0) | (1 << 1);
const HANDSHAKE_MS = 10_000;
const BACKOFF = { minMs: 1_000, maxMs: 60_000 };
/** The platform ends a session that is closed with 1000; with this code it can be resumed. */
const RESUMABLE_CLOSE = 4200;
/** How long a stop waits for the platform to close the connection, in milliseconds. */
const CLOSE_MS = 1_000;

/** An event of the chat platform's websocket. */
export interface GatewayDispatch {
  /** For example GUILD_MEMBER_ADD. */
  type: string;
  /** The session of the event, and its number in this session. */
  sessionId: string;
  sequence: number;
  data: unknown;
}

/** A session that a connection continues. */
export interface GatewaySession {
  sessionId: string;
  sequence: number;
  resumeUrl: string;
}

export interface GatewayShardOptions {
  /** The URL of the websocket for a new session. */
  url: string;
  token: string;
  shardId: number;
  shardCount: number;
  /** The session to continue; null for a new one. */
  session: GatewaySession | null;
  /** Resolves when a new session may begin. Rejects only when the signal is aborted. */
  admitIdentify: (signal: AbortSignal) => Promise<void>;
  /** Receives every event, in order. READY begins a session, and RESUMED follows the events that were missed. */
  dispatched: (dispatch: GatewayDispatch) => void;
  /** Called when the connection is lost; the shard connects again by itself. */
  disconnected: (code: number) => void;
  /** Called when the platform rejects the connection permanently, for example because of the intents. */
  rejected: (reason: string) => void;
}

/**
 * A connection to the chat platform's websocket, by the library's shard, which connects again and resumes its session.
 * The library is used without its manager, because each shard has its own owner here, who also stores the session.
 */
export class GatewayShard implements IContextFetchingStrategy {
  readonly options: FetchingStrategyOptions;
  readonly #options: GatewayShardOptions;
  readonly #shard: WebSocketShard;
  readonly #stopped = new AbortController();
  #session: SessionInfo | null;
  /** The number of attempts to connect since the last session began or was resumed. */
  #attempts = 0;

  constructor(options: GatewayShardOptions) {
    const { url, token, shardId, shardCount, session } = options;
    this.#options = options;
    this.#session = session && { shardId, shardCount, resumeURL: session.resumeUrl, ...session };
    const limits = { total: 1, remaining: 1, reset_after: 0, max_concurrency: 1 };
    const { compression, encoding, identifyProperties, version } = DefaultWebSocketManagerOptions;
    this.options = {
      compression,
      encoding,
      identifyProperties,
      version,
      token,
      shardCount,
      intents: INTENTS,
      handshakeTimeout: HANDSHAKE_MS,
      helloTimeout: HANDSHAKE_MS,
      readyTimeout: 2 * HANDSHAKE_MS,
      initialPresence: null,
      largeThreshold: null,
      useIdentifyCompression: false,
      // The limits of new sessions are ours, in `admitIdentify`.
      gatewayInformation: { url, shards: shardCount, session_start_limit: limits },
    };
    this.#shard = new WebSocketShard(this, shardId);
    this.#listen();
  }

  /** Starts to connect, in the background. */
  start(): void {
    void this.#shard.connect().catch(() => undefined);
  }

  /** Closes the connection so that the session can be resumed, by this or another process. */
  async stop(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort();
    // The library fails if a connection is destroyed that is just being opened; that is left to #listen.
    if (this.#shard.status === WebSocketShardStatus.Connecting) return;
    await Promise.race([this.#destroy(), sleep(CLOSE_MS)]);
  }

  /**
   * Returns the session for the library. The library also calls this function before it connects, the only time at which
   * its status is Idle, and cannot be stopped then in another way.
   */
  retrieveSessionInfo(): SessionInfo | null | Promise<SessionInfo | null> {
    return this.#shard.status === WebSocketShardStatus.Idle ? this.#beforeConnecting() : this.#session;
  }

  updateSessionInfo(_shardId: number, session: SessionInfo | null): void {
    if (!this.#stopped.signal.aborted) this.#session = session;
  }

  /** The wait is over before the connection is opened, because the platform closes idle connections. */
  async waitForIdentify(): Promise<void> {}

  /** Waits until the shard may connect. Never resolves after a stop, so that the library does not connect any more. */
  async #beforeConnecting(): Promise<SessionInfo | null> {
    const { signal } = this.#stopped;
    this.#attempts += 1;
    try {
      if (this.#attempts > 1) await sleep(backoffMs(this.#attempts - 1, BACKOFF), undefined, { signal });
      if (this.#session === null) await this.#options.admitIdentify(signal);
    } catch {
      // Aborted by a stop.
    }
    return signal.aborted ? new Promise<never>(() => undefined) : this.#session;
  }

  #listen(): void {
    const { dispatched, disconnected, rejected } = this.#options;
    const { signal } = this.#stopped;
    this.#shard.on(WebSocketShardEvents.Dispatch, ({ t, s: sequence, d: data }) => {
      if (signal.aborted) return;
      const type: string = t;
      if (type === 'READY' || type === 'RESUMED') this.#attempts = 0;
      dispatched({ type, sequence, data, sessionId: this.#session?.sessionId ?? '' });
    });
    this.#shard.on(WebSocketShardEvents.Closed, (code) => {
      if (!signal.aborted) disconnected(code);
    });
    this.#shard.on(WebSocketShardEvents.Hello, () => {
      if (signal.aborted) void this.#destroy();
    });
    this.#shard.on(WebSocketShardEvents.Error, ({ message }) => {
      if (!signal.aborted) rejected(message);
    });
    // A failure of the network is followed by `Closed`.
    this.#shard.on(WebSocketShardEvents.SocketError, () => undefined);
  }

  #destroy(): Promise<void> {
    return this.#shard.destroy({ code: RESUMABLE_CLOSE }).catch(() => undefined);
  }
}
