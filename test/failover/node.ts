import { Client } from 'pg';
import { startTcpProxy, type TcpProxy } from '../network/tcp-proxy.ts';
import { PASSWORD } from '../restore/server.ts';

const SUPERUSER = 'postgres';
/** The timeout of one statement of a test in milliseconds. */
const STATEMENT_MS = 2_000;

/**
 * One server of a cluster and the network in front of it: clients and the other servers reach it through relays of their
 * own, so that each can be cut off alone.
 */
export class ClusterNode {
  readonly number: number;
  /** The port on which the server listens; only the test uses it. */
  readonly port: number;
  readonly toClients: TcpProxy;
  readonly toPeers: TcpProxy;
  /** Further relays that lead to or from the other servers, such as that to etcd. */
  readonly #others: TcpProxy[];

  private constructor(
    options: Pick<ClusterNode, 'number' | 'port' | 'toClients' | 'toPeers'> & { others: TcpProxy[] },
  ) {
    this.number = options.number;
    this.port = options.port;
    this.toClients = options.toClients;
    this.toPeers = options.toPeers;
    this.#others = options.others;
  }

  static async create(number: number, port: number, others: TcpProxy[] = []): Promise<ClusterNode> {
    const [toClients, toPeers] = await Promise.all([startTcpProxy(port), startTcpProxy(port)]);
    return new ClusterNode({ number, port, toClients, toPeers, others });
  }

  get name(): string {
    return `node${this.number}`;
  }

  /** The URL of a database, by default for the superuser, without a relay. */
  url(database: string, user = SUPERUSER): string {
    return `postgres://${user}:${PASSWORD}@127.0.0.1:${this.port}/${database}`;
  }

  /** Cuts the server off from the other servers, and from its clients too if `cutsClients`. No connection is closed. */
  partition(cutsClients: boolean): void {
    for (const relay of [this.toPeers, ...this.#others]) relay.hold();
    if (cutsClients) this.toClients.hold();
  }

  heal(): void {
    for (const relay of [this.toClients, this.toPeers, ...this.#others]) relay.release();
  }

  /** Runs one statement as the superuser. Throws if the server does not respond within two seconds. */
  async query<Row extends object>(text: string): Promise<Row[]> {
    const client = new Client({
      connectionString: this.url('postgres'),
      connectionTimeoutMillis: STATEMENT_MS,
      query_timeout: STATEMENT_MS,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Row>(text)).rows;
    } finally {
      void client.end().catch(() => undefined);
    }
  }

  /** True if the server is a primary that can commit a write now, which with synchronous standbys needs one of them. */
  async acceptsWrites(): Promise<boolean> {
    try {
      const [row] = await this.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
      if (row?.standby !== false) return false;
      await this.query("SELECT pg_logical_emit_message(true, 'failover', '')");
      return true;
    } catch {
      return false;
    }
  }

  /** The number of standbys that receive what this server writes, and of those that commits wait for. */
  async standbys(): Promise<{ streaming: number; synchronous: number }> {
    const rows = await this.query<{ streaming: number; synchronous: number }>(`
      SELECT (count(*) FILTER (WHERE state = 'streaming'))::int AS streaming,
        (count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')))::int AS synchronous
      FROM pg_stat_replication`);
    return rows[0] ?? { streaming: 0, synchronous: 0 };
  }

  async close(): Promise<void> {
    await Promise.all([this.toClients, this.toPeers, ...this.#others].map((relay) => relay.close()));
  }
}
