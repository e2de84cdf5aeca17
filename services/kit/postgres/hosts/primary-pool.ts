import { Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { Logger } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { PrimaryFinder, requirePrimary } from './primary-finder.ts';
import { PrimaryWatch } from './primary-watch.ts';

export interface PrimaryPoolOptions {
  /** The URL of the database, with one or several hosts. */
  url: string;
  /** The name of the service, shown in pg_stat_activity. */
  name: string;
  log: Logger;
  metrics: Metrics;
  /** The settings of each connection, without its address. */
  settings: PoolConfig;
}

/**
 * A pool of connections to the host that accepts writes. When another host becomes the primary, all connections to the
 * former one are closed, also those in use: their statements fail. With a single host, connections are never
 * moved.
 */
export class PrimaryPool {
  readonly #options: PrimaryPoolOptions;
  readonly #watch: PrimaryWatch | undefined;
  #url: string;
  #pool: Pool;
  /** The open connections, also those of pools that were replaced; followed only with several hosts. */
  readonly #clients = new Set<PoolClient>();
  #isClosed = false;

  constructor(options: PrimaryPoolOptions) {
    this.#options = options;
    const { url, name, log, metrics } = options;
    const switches = metrics.counter(
      'postgres_primary_switches_total',
      'Times that the connections moved to another host of DATABASE_URL, which had become the primary',
    );
    const finder = new PrimaryFinder(url, name);
    this.#url = finder.urls[0];
    if (finder.urls.length > 1) {
      this.#watch = new PrimaryWatch({ finder, log, switches, onChange: (primary) => this.#move(primary) });
    }
    this.#pool = this.#create();
  }

  /** The URL of the primary that was found last, with a single host. */
  get url(): string {
    return this.#url;
  }

  get current(): Pool {
    return this.#pool;
  }

  /** Takes a connection to the primary. Throws if none is known, without waiting for one. */
  connect(): Promise<PoolClient> {
    return this.#watch ? this.#connectToPrimary(this.#watch) : this.#pool.connect();
  }

  async #connectToPrimary(watch: PrimaryWatch): Promise<PoolClient> {
    await watch.ready();
    const pool = this.#pool;
    const client = await pool.connect();
    if (pool === this.#pool) return client;
    // The primary has changed while the connection was opened.
    client.release(true);
    throw new Error('another host has become the primary');
  }

  /** Reports a fault that a new primary could explain. */
  doubt(): void {
    this.#watch?.doubt();
  }

  /** Opens new connections from now on, because the present ones may be dead without notice. */
  replace(): void {
    if (this.#isClosed) return;
    const old = this.#pool;
    this.#pool = this.#create();
    void old.end();
  }

  end(): Promise<void> {
    this.#isClosed = true;
    this.#watch?.stop();
    return this.#pool.end();
  }

  #move(primary: string | undefined): void {
    const old = [...this.#clients];
    this.#url = primary ?? this.#url;
    this.replace();
    for (const client of old) if (client instanceof Client) void client.end().catch(() => undefined);
  }

  #create(): Pool {
    const { name, log, settings } = this.#options;
    const checked = this.#watch && { onConnect: requirePrimary as NonNullable<PoolConfig['onConnect']> };
    const pool = new Pool({ connectionString: this.#url, application_name: name, ...settings, ...checked });
    pool.on('error', (error) => {
      log.warn({ error: error.message }, 'lost an idle database connection');
      this.doubt();
    });
    // If a connection is lost while in use, its next statement fails; without a listener the loss would also terminate
    // the process.
    pool.on('connect', (client) => client.on('error', () => undefined));
    if (this.#watch) this.#follow(pool);
    return pool;
  }

  #follow(pool: Pool): void {
    pool.on('connect', (client) => void this.#clients.add(client));
    pool.on('remove', (client) => void this.#clients.delete(client));
  }
}
