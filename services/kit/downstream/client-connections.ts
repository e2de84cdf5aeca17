import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Part } from '../service/lifecycle.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type AddressList, type Network, networkOf, peerAddress } from './client-address.ts';
import { NetworkSlots } from './network-slots.ts';
import { SERVERS_PER_GUILD, SharedSlots, shareOf } from './slots.ts';

/** How often a client connection is checked within the write timeout. */
const CHECKS = 10;
/** The number of connections of one game server: one to poll for commands and one for heartbeats. */
const CONNECTIONS_PER_SERVER = 2;

export interface ClientConnectionsOptions {
  /** The maximum number of open connections of the public listener. */
  maxConnections: number;
  /** A client that reads nothing for this many milliseconds, although bytes are waiting for it, is disconnected. */
  writeTimeoutMs: number;
  /** Proxies whose connections carry requests of many clients, so that no share of a guild or address limits them. */
  trustedProxies: AddressList;
  metrics: Metrics;
}

/** The state of one client connection. */
interface ConnectionState {
  /** True if the other side of the connection is a trusted proxy. */
  isProxy: boolean;
  /** The client network whose share of unauthenticated connections this connection uses. */
  network: Network | undefined;
  /** The guild of the last valid API key that was used on the connection. */
  guildId: string | undefined;
  /** The number of sent bytes that the operating system had accepted at the last check of the connection. */
  flushed: number;
  /** The number of consecutive checks at which bytes were waiting for the client and none had been sent. */
  idleChecks: number;
}

/**
 * Tracks the client connections of the public listener. Disconnects clients that do not read, and limits the
 * connections of one address without a valid API key, and the connections of one guild, each to a tenth of all.
 */
export class ClientConnections implements Part {
  readonly name = 'client connections';
  readonly #tracked = new Map<Socket, ConnectionState>();
  readonly #unauthenticated: NetworkSlots;
  readonly #guilds: SharedSlots<string>;
  readonly #trustedProxies: AddressList;
  readonly #checkMs: number;
  readonly #closed;
  #timer: NodeJS.Timeout | undefined;

  constructor({ maxConnections, writeTimeoutMs, trustedProxies, metrics }: ClientConnectionsOptions) {
    const perGuild = shareOf(maxConnections, CONNECTIONS_PER_SERVER * SERVERS_PER_GUILD);
    this.#unauthenticated = new NetworkSlots(maxConnections, shareOf(maxConnections));
    this.#guilds = new SharedSlots(Number.POSITIVE_INFINITY, perGuild);
    this.#trustedProxies = trustedProxies;
    this.#checkMs = writeTimeoutMs / CHECKS;
    const help =
      'Client connections that the gateway closed: the client did not read, or its address or guild had reached its share';
    const reasons = ['not_reading', 'address_share', 'guild_share'];
    this.#closed = metrics.counterOf('gateway_client_disconnects_total', help, 'reason', reasons);
    metrics.gauge('gateway_client_connections', 'Open client connections of the public listener', [], (gauge) =>
      gauge.set(this.#tracked.size),
    );
  }

  /** Tracks all client connections of this HTTP server. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => this.#check(), this.#checkMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  /**
   * Called for each request with a valid API key. Returns false if the guild has reached its share of connections: then
   * the connection must be closed after the response.
   */
  authenticated(socket: Socket, guildId: string): boolean {
    const tracked = this.#tracked.get(socket);
    if (!tracked || tracked.isProxy || tracked.guildId === guildId) return true;
    if (!this.#guilds.take(guildId)) {
      this.#closed.inc({ reason: 'guild_share' });
      return false;
    }
    this.#releaseShares(tracked);
    tracked.guildId = guildId;
    return true;
  }

  #add(socket: Socket): void {
    const address = peerAddress(socket.remoteAddress ?? '');
    const isProxy = address !== undefined && this.#trustedProxies.has(address);
    const network = isProxy ? undefined : networkOf(address);
    if (network !== undefined && !this.#unauthenticated.take(network)) {
      this.#closed.inc({ reason: 'address_share' });
      socket.resetAndDestroy();
      return;
    }
    const tracked: ConnectionState = { isProxy, network, guildId: undefined, flushed: 0, idleChecks: 0 };
    this.#tracked.set(socket, tracked);
    socket.once('close', () => {
      this.#tracked.delete(socket);
      this.#releaseShares(tracked);
    });
  }

  #releaseShares(tracked: ConnectionState): void {
    if (tracked.network !== undefined) this.#unauthenticated.release(tracked.network);
    if (tracked.guildId !== undefined) this.#guilds.release(tracked.guildId);
    tracked.network = undefined;
    tracked.guildId = undefined;
  }

  /**
   * Counts the checks at which a client read nothing, instead of measuring time: a blocked process would notice too
   * late that the client reads.
   */
  #check(): void {
    for (const [socket, tracked] of this.#tracked) {
      if (socket.writableLength === 0) {
        tracked.idleChecks = 0;
        continue;
      }
      const flushed = socket.bytesWritten - socket.writableLength;
      if (flushed !== tracked.flushed) {
        tracked.flushed = flushed;
        tracked.idleChecks = 0;
      } else if (++tracked.idleChecks >= CHECKS) {
        this.#closed.inc({ reason: 'not_reading' });
        // The connection is reset, so that the operating system drops the bytes that the client has not read.
        socket.resetAndDestroy();
      }
    }
  }
}
