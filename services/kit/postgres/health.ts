import { Client, DatabaseError } from 'pg';
import type { Breaker } from '../resilience/breaker.ts';
import { within } from '../resilience/deadline.ts';
import type { Logger } from '../telemetry/log.ts';

/** If a statement has no response for this long, PostgreSQL is probed. */
const SLOW_MS = 500;
/** The time limit of a probe, from connecting to its last response. */
const PROBE_MS = 1_000;
/** Less than PROBE_MS, so that PostgreSQL itself reports a locked table. */
const PROBE_LOCK_MS = 800;
const LOCK_NOT_AVAILABLE = '55P03';

export interface DatabaseHealthOptions {
  url: string;
  /** The name of the service and of its schema. */
  name: string;
  /** It runs only probes, so a single failure must open it: see DATABASE_BREAKER. */
  breaker: Breaker;
  log: Logger;
  /** Called when PostgreSQL has stopped responding. */
  stoppedResponding: () => void;
}

export const DATABASE_BREAKER = { minCalls: 1, failedPercent: 0, openMs: 1_000 };

/**
 * Finds out whether PostgreSQL responds. A slow statement of a caller does not open the breaker, because a caller can
 * cause one, or wait for a lock. It only triggers a probe over a separate connection. The probe fails if no statement
 * gets a response, or if a table of the service is locked against all reads. Then callers are rejected immediately,
 * until a later probe succeeds.
 */
export class DatabaseHealth {
  readonly #options: DatabaseHealthOptions;
  /** The number of responses to callers' statements: while it grows, the server is not hung. */
  #responses = 0;
  #isProbing = false;
  #probedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DatabaseHealthOptions) {
    this.#options = options;
    const { breaker, log, stoppedResponding } = options;
    let isReported = false;
    breaker.probeWith(() => this.#probe());
    breaker.onChange((isOpen) => {
      // The breaker opens again after each failed probe.
      if (isOpen === isReported) return;
      isReported = isOpen;
      if (!isOpen) return log.info('PostgreSQL responds again');
      log.warn('PostgreSQL does not respond: statements are rejected until it does');
      stoppedResponding();
    });
  }

  /** True while callers must be rejected. */
  get isDown(): boolean {
    return this.#options.breaker.isOpen;
  }

  /** Records that PostgreSQL has responded to a caller's statement, with a result or an error. */
  responded(): void {
    this.#responses++;
  }

  /** Waits for `work`, and probes PostgreSQL if it takes long. */
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
    // A failed probe opens the breaker.
    await this.#options.breaker.run(() => this.#probe()).catch(() => undefined);
    this.#isProbing = false;
    this.#probedAt = performance.now();
  }

  async #probe(): Promise<void> {
    const before = this.#responses;
    const { url, name } = this.#options;
    const client = new Client({
      connectionString: url,
      application_name: `${name} probe`,
      connectionTimeoutMillis: PROBE_MS,
      statement_timeout: PROBE_MS,
    });
    // A lost connection is reported by the query that waits for it.
    client.on('error', () => undefined);
    try {
      await within(PROBE_MS, readEachTable(client, name));
    } catch (error) {
      // Any other error of PostgreSQL, such as too many connections, is a response.
      const isResponse = error instanceof DatabaseError && error.code !== LOCK_NOT_AVAILABLE;
      if (!isResponse && this.#responses === before) throw error;
    } finally {
      void client.end().catch(() => undefined);
    }
  }
}

/** Takes a read lock on each table of the schema, without reading rows. */
async function readEachTable(client: Client, schema: string): Promise<void> {
  await client.connect();
  const { rows } = await client.query<{ text: string }>(
    "SELECT format('SELECT FROM %I.%I LIMIT 0', schemaname, tablename) AS text FROM pg_tables WHERE schemaname = $1",
    [schema],
  );
  // Not set as a connection parameter: a pooler would reject an unknown one, which would look like a response.
  const limit = `SET LOCAL lock_timeout = ${PROBE_LOCK_MS}`;
  await client.query(['BEGIN', limit, ...rows.map(({ text }) => text), 'COMMIT'].join('; '));
}
