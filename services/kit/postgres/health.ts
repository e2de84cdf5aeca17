import { Client, DatabaseError } from 'pg';
import type { Breaker } from '../resilience/breaker.ts';
import { within } from '../resilience/deadline.ts';
import type { Logger } from '../telemetry/log.ts';

/** If a statement gets no response within these milliseconds, PostgreSQL is probed over a separate connection. */
const SLOW_MS = 500;
/** The timeout of a PostgreSQL probe in milliseconds, from connecting to the last response. */
const PROBE_MS = 1_000;
/**
 * The lock timeout of a PostgreSQL probe in milliseconds; less than PROBE_MS, so that PostgreSQL itself reports a
 * locked table.
 */
const PROBE_LOCK_MS = 800;
const LOCK_NOT_AVAILABLE = '55P03';

export interface DatabaseHealthOptions {
  /** Returns the URL of the server that the pool uses. */
  url: () => string;
  /** The name of the service, which is also the name of its database schema. */
  name: string;
  /**
   * The circuit breaker of PostgreSQL, with the options DATABASE_BREAKER. It runs only probes, so a single failure
   * opens it.
   */
  breaker: Breaker;
  log: Logger;
  /** Called when PostgreSQL has stopped responding, so that the pool can replace its connections. */
  stoppedResponding: () => void;
  /** Called on a fault, or a slow response, that another primary could explain. */
  doubt: () => void;
}

export const DATABASE_BREAKER = { minCalls: 1, failedPercent: 0, openMs: 1_000 };

/**
 * Detects that PostgreSQL has stopped responding. A caller can cause a slow statement, or wait for a lock, so a slow
 * statement does not open the circuit breaker: it only triggers a probe over a separate connection. The probe fails if
 * no statement gets a response, or if a table of the service is locked against all reads. Then callers are rejected
 * immediately, until a later probe succeeds.
 */
export class DatabaseHealth {
  readonly #options: DatabaseHealthOptions;
  /** The number of responses to callers' statements. While this number grows, the database server is not hung. */
  #responses = 0;
  #isProbing = false;
  #probedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DatabaseHealthOptions) {
    this.#options = options;
    const { breaker, log, stoppedResponding } = options;
    let isReported = false;
    breaker.probeWith(() => this.#probe());
    breaker.onChange((isOpen) => {
      // The circuit breaker opens again after each failed probe; only the first time is logged.
      if (isOpen === isReported) return;
      isReported = isOpen;
      if (!isOpen) return log.info('PostgreSQL responds again');
      log.warn('PostgreSQL does not respond: statements are rejected until it does');
      stoppedResponding();
    });
  }

  /** True while PostgreSQL does not respond and callers must be rejected. */
  get isDown(): boolean {
    return this.#options.breaker.isOpen;
  }

  /** Records that PostgreSQL has responded to a caller's statement, with a result or an error. */
  responded(): void {
    this.#responses++;
  }

  /** Records a fault of a connection that another primary could explain. */
  doubt(): void {
    this.#options.doubt();
  }

  /** Waits for a connection or for the response to a statement, and probes PostgreSQL if it takes long. */
  async watch<Result>(work: Promise<Result>): Promise<Result> {
    const timer = setTimeout(() => void this.#probeIfNeeded(), SLOW_MS);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  }

  async #probeIfNeeded(): Promise<void> {
    if (this.#isProbing || this.isDown || performance.now() - this.#probedAt < PROBE_MS) return;
    this.#isProbing = true;
    this.doubt();
    // A failed probe opens the circuit breaker, so its error needs no further handling here.
    await this.#options.breaker.run(() => this.#probe()).catch(() => undefined);
    this.#isProbing = false;
    this.#probedAt = performance.now();
  }

  async #probe(): Promise<void> {
    const before = this.#responses;
    const { url, name } = this.#options;
    const client = new Client({
      connectionString: url(),
      application_name: `${name} probe`,
      connectionTimeoutMillis: PROBE_MS,
      statement_timeout: PROBE_MS,
    });
    // Without a listener a lost connection would terminate the process; the query that waits for a response reports the
    // loss.
    client.on('error', () => undefined);
    try {
      await within(PROBE_MS, readEachTable(client, name));
    } catch (error) {
      // Any error that PostgreSQL itself sends, such as too many connections, proves that it responds; except a locked
      // table.
      const isResponse = error instanceof DatabaseError && error.code !== LOCK_NOT_AVAILABLE;
      if (!isResponse && this.#responses === before) throw error;
    } finally {
      void client.end().catch(() => undefined);
    }
  }
}

/** Takes a read lock on each table of a service's schema, without reading rows. Throws if a table stays locked. */
async function readEachTable(client: Client, schema: string): Promise<void> {
  await client.connect();
  const { rows } = await client.query<{ text: string }>(
    "SELECT format('SELECT FROM %I.%I WHERE false', schemaname, tablename) AS text FROM pg_tables WHERE schemaname = $1",
    [schema],
  );
  // The lock timeout is set by a statement: as a connection parameter a pooler might reject it, which would look like a
  // response of PostgreSQL.
  const limit = `SET LOCAL lock_timeout = ${PROBE_LOCK_MS}`;
  await client.query(['BEGIN', limit, ...rows.map(({ text }) => text), 'COMMIT'].join('; '));
}
