import { setInterval as every } from 'node:timers/promises';
import type { Client } from 'pg';

/** Receives what an operator should know while migrations wait. */
export type Report = (line: string) => void;

/** A session of PostgreSQL. The address, the state and the age are NULL if the migrating role may not see them. */
export interface Session {
  pid: number;
  role: string | null;
  application: string | null;
  address: string | null;
  state: string | null;
  /** The age of its transaction. */
  seconds: number | null;
}

interface Wait {
  mode: string;
  /** A table, `a transaction` that has to end, or PostgreSQL's name for another kind of lock. */
  target: string;
  blockers: Session[];
}

/** Often enough to see each wait for a lock before its timeout. */
const LOOK_EVERY_MS = 400;
const REPORT_EVERY_MS = 10_000;

const WAITS = `
  SELECT waiting.mode, coalesce(waiting.relation::regclass::text,
      CASE WHEN waiting.locktype IN ('transactionid', 'virtualxid') THEN 'a transaction' ELSE waiting.locktype END) AS target,
    (SELECT json_agg(json_build_object('pid', pid, 'role', usename, 'application', application_name,
       'address', client_addr, 'state', state, 'seconds', extract(epoch FROM clock_timestamp() - xact_start)::int))
     FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids($1))) AS blockers
  FROM pg_locks AS waiting WHERE waiting.pid = $1 AND NOT waiting.granted`;

export interface LockWatchOptions {
  /** The process ID, in PostgreSQL, of the session that migrates. */
  pid: number;
  /** Opens the connection of the watch. */
  open: () => Promise<Client>;
  report: Report;
}

/** Describes a session in words with which an operator finds it. */
export function describeSession({ pid, role, application, address, state, seconds }: Session): string {
  const parts = [
    `role ${role}`,
    application && `application ${application}`,
    address && `from ${address}`,
    state,
    seconds !== null && `transaction open for ${seconds} s`,
  ];
  return `process ${pid} (${parts.filter(Boolean).join(', ')})`;
}

/**
 * Looks, on a connection of its own, which sessions block the session that migrates, and reports them: at once when it
 * sees the first, then every ten seconds. The connection is opened only if the migrations take longer than one look.
 */
export class LockWatch {
  readonly #options: LockWatchOptions;
  readonly #ended = new AbortController();
  readonly #looking: Promise<void>;
  #client: Client | undefined;
  #seen: string | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(options: LockWatchOptions) {
    this.#options = options;
    this.#looking = this.#look();
  }

  /** Returns the last wait that was seen since the previous call of this method; undefined if there was none. */
  takeSeen(): string | undefined {
    const seen = this.#seen;
    this.#seen = undefined;
    return seen;
  }

  async end(): Promise<void> {
    this.#ended.abort();
    await this.#looking;
    await this.#client?.end().catch(() => undefined);
  }

  async #look(): Promise<void> {
    try {
      for await (const _ of every(LOOK_EVERY_MS, undefined, { signal: this.#ended.signal })) await this.#lookOnce();
    } catch {
      // The watch has ended, or its connection is lost: migrations go on without it.
    }
  }

  async #lookOnce(): Promise<void> {
    this.#client ??= await this.#options.open();
    const { rows } = await this.#client.query<Wait>(WAITS, [this.#options.pid]);
    const [wait] = rows;
    if (!wait?.blockers) return;
    this.#seen = `${wait.mode} on ${wait.target} is blocked by ${wait.blockers.map(describeSession).join(' and ')}`;
    if (performance.now() - this.#reportedAt < REPORT_EVERY_MS) return;
    this.#reportedAt = performance.now();
    this.#options.report(`waiting: ${this.#seen}`);
  }
}
