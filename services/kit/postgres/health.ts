import { Client, DatabaseError } from 'pg';
import type { Breaker } from '../resilience/breaker.ts';
import { within } from '../resilience/deadline.ts';
import type { Logger } from '../telemetry/log.ts';

/** A statement that has no response for this long casts doubt on the server. */
const DOUBT_MS = 500;
/** For a probe, from its connection to its last response. */
const PROBE_MS = 1_000;
/** A little less, so that PostgreSQL itself reports a table that is locked. */
const PROBE_LOCK_MS = 800;
const LOCK_NOT_AVAILABLE = '55P03';

export interface DatabaseHealthOptions {
  url: string;
  /** The service, and so its schema. */
  name: string;
  /** Its only calls are the probes, so one that fails must open it: see DATABASE_BREAKER. */
  breaker: Breaker;
  log: Logger;
  /** Called when PostgreSQL has stopped responding. */
  stoppedResponding: () => void;
}

export const DATABASE_BREAKER = { leastCalls: 1, failedPercent: 0, openMs: 1_000 };

/**
 * Finds out whether PostgreSQL responds. What callers wait for never opens the breaker, since a caller can cause a slow
 * statement or wait for a lock: it only causes a probe, over a connection of its own. The probe fails if nothing has a
 * response, or if a table of the service is locked against all reads; then callers are rejected at once, until a later
 * probe succeeds.
 */
export class DatabaseHealth {
  readonly #options: DatabaseHealthOptions;
  /** Counts the responses to callers' statements: while there are some, the server is not hung. */
  #responses = 0;
  #isProbing = false;
  #probedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DatabaseHealthOptions) {
    this.#options = options;
    const { breaker, log, stoppedResponding } = options;
    let isReported = false;
    breaker.probeWith(() => this.#probe());
    breaker.onChange((isOpen) => {
      // It also opens again whenever a probe has failed.
      if (isOpen === isReported) return;
      isReported = isOpen;
      if (!isOpen) return log.info('PostgreSQL responds again');
      log.warn('PostgreSQL does not respond: statements are rejected until it does');
      stoppedResponding();
    });
  }

  /** Whether callers are to be rejected. */
  get isDown(): boolean {
    return this.#options.breaker.isOpen;
  }

  /** PostgreSQL has responded to a caller's statement, be it with an error. */
  responded(): void {
    this.#responses++;
  }

  /** Has PostgreSQL probed if this takes long. */
  async watch<Result>(work: Promise<Result>): Promise<Result> {
    const doubt = setTimeout(() => void this.#doubt(), DOUBT_MS);
    try {
      return await work;
    } finally {
      clearTimeout(doubt);
    }
  }

  async #doubt(): Promise<void> {
    if (this.#isProbing || this.isDown || performance.now() - this.#probedAt < PROBE_MS) return;
    this.#isProbing = true;
    // A failure opens the breaker.
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
    // Its loss is reported by what waits for it.
    client.on('error', () => undefined);
    try {
      await within(PROBE_MS, readEachTable(client, name));
    } catch (error) {
      // Any other error is a response too, such as that there are too many connections.
      const isResponse = error instanceof DatabaseError && error.code !== LOCK_NOT_AVAILABLE;
      if (!isResponse && this.#responses === before) throw error;
    } finally {
      void client.end().catch(() => undefined);
    }
  }
}

/** Takes the lock of a read on each table of the schema, and reads no row. */
async function readEachTable(client: Client, schema: string): Promise<void> {
  await client.connect();
  const { rows } = await client.query<{ text: string }>(
    "SELECT format('SELECT FROM %I.%I LIMIT 0', schemaname, tablename) AS text FROM pg_tables WHERE schemaname = $1",
    [schema],
  );
  // Not a parameter of the connection: poolers reject those that they do not know, which would look like a response.
  const limit = `SET LOCAL lock_timeout = ${PROBE_LOCK_MS}`;
  await client.query(['BEGIN', limit, ...rows.map(({ text }) => text), 'COMMIT'].join('; '));
}
