import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { type AddressList, type Network, networkOf, peerAddress } from './client-address.ts';
import { SERVERS_PER_GUILD, SharedSlots, shareOf } from './slots.ts';

/** How often a connection is checked within the write timeout. */
const CHECKS = 10;
/** A game server polls over one connection and sends its heartbeats over another. */
const CONNECTIONS_PER_SERVER = 2;

export interface ClientConnectionsOptions {
  /** Of the whole listener. */
  maxConnections: number;
  /** A client that takes none of the bytes written for it for so long is disconnected. */
  writeTimeoutMs: number;
  /** Their connections are those of many clients. */
  trustedProxies: AddressList;
  metrics: Metrics;
}

/** What is known of a connection. */
interface Tracked {
  /** Whether it is a trusted proxy's, and so no one client's. */
  isProxy: boolean;
  /** Whose share of unauthenticated connections it holds a part of. */
  network: Network | undefined;
  /** The guild of the last key on it. */
  guildId: string | undefined;
  /** Bytes that the operating system had taken when it was last checked. */
  flushed: number;
  /** Checks in a row at which bytes were waiting and none had gone. */
  idleChecks: number;
}

/**
 * The connections of the public listener. It disconnects clients that do not read, and bounds how many connections one
 * address holds without a valid key, and one guild with its keys: a tenth of all each.
 */
export class ClientConnections implements Part {
  readonly name = 'client connections';
  readonly #tracked = new Map<Socket, Tracked>();
  readonly #unauthenticated: SharedSlots<Network>;
  readonly #guilds: SharedSlots<string>;
  readonly #trustedProxies: AddressList;
  readonly #checkMs: number;
  readonly #closed;
  #timer: NodeJS.Timeout | undefined;

  constructor({ maxConnections, writeTimeoutMs, trustedProxies, metrics }: ClientConnectionsOptions) {
    const perGuild = shareOf(maxConnections, CONNECTIONS_PER_SERVER * SERVERS_PER_GUILD);
    this.#unauthenticated = new SharedSlots(maxConnections, shareOf(maxConnections));
    this.#guilds = new SharedSlots(Number.POSITIVE_INFINITY, perGuild);
    this.#trustedProxies = trustedProxies;
    this.#checkMs = writeTimeoutMs / CHECKS;
    const help =
      'Client connections closed early: the client did not read (not_reading), or its address or guild has its share of connections';
    const reasons = ['not_reading', 'address_share', 'guild_share'];
    this.#closed = metrics.counterOf('gateway_client_disconnects_total', help, 'reason', reasons);
    metrics.gauge('gateway_client_connections', 'Open connections of the public listener', [], (gauge) =>
      gauge.set(this.#tracked.size),
    );
  }

  /** Tracks the connections of this server. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => this.#check(), this.#checkMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  /** A request on the connection has a valid key. False if its guild holds too many: then close it after the response. */
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
    const tracked: Tracked = { isProxy, network, guildId: undefined, flushed: 0, idleChecks: 0 };
    this.#tracked.set(socket, tracked);
    socket.once('close', () => {
      this.#tracked.delete(socket);
      this.#releaseShares(tracked);
    });
  }

  #releaseShares(tracked: Tracked): void {
    if (tracked.network !== undefined) this.#unauthenticated.release(tracked.network);
    if (tracked.guildId !== undefined) this.#guilds.release(tracked.guildId);
    tracked.network = undefined;
    tracked.guildId = undefined;
  }

  /** Counts checks instead of time: while the process itself stands still, no client can be seen to read. */
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
        // A reset, so that the operating system drops what the client has not read.
        socket.resetAndDestroy();
      }
    }
  }
}
