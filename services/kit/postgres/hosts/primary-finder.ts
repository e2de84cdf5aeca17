import { Client, DatabaseError } from 'pg';
import { DeadlineError, within } from '../../resilience/deadline.ts';
import { hostOf, hostUrls } from './url.ts';

/** The timeout in milliseconds of the check of one host, from connecting to its response. */
const CHECK_MS = 1_000;
/**
 * The timeout doubles up to this with each search without a result. Overloaded servers take seconds to accept a connection:
 * with the same timeout no search would succeed, and repeated searches would keep them overloaded.
 */
const MAX_CHECK_MS = 4_000;
/**
 * How long, in milliseconds, a search waits for the other hosts after one accepts writes. While an old primary is cut
 * off from the other servers, two hosts accept writes, and the one with the higher timeline is the primary.
 */
const OTHERS_MS = 250;

/** Every promotion gives the server a higher timeline; it is part of the names of WAL files. */
const CHECK = `
  SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly",
    (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
    CASE WHEN NOT pg_is_in_recovery()
      THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`;

interface Status {
  isReadOnly: boolean;
  /** The identifier that all servers have that were copied from the same one. */
  cluster: string;
  /** Null on a standby. */
  timeline: number | null;
}

/** A server that accepts writes. */
interface Primary {
  url: string;
  cluster: string;
  timeline: number;
}

/** Thrown when no host accepts writes. */
export class NoPrimaryError extends Error {
  /**
   * The hosts, without credentials, that responded that they do not accept writes, or on whose machine no server listens.
   */
  readonly rejected: ReadonlySet<string>;

  constructor(reasons: readonly string[], rejected: ReadonlySet<string>) {
    super(`no host accepts writes: ${reasons.join('; ')}`);
    this.name = 'NoPrimaryError';
    this.rejected = rejected;
  }
}

/** Finds the host that accepts writes among those of a database URL. It keeps no connection. */
export class PrimaryFinder {
  /** One URL for each host. */
  readonly urls: readonly [string, ...string[]];
  readonly #name: string;
  /** The primary that was found last. A host with a lower timeline is never used again, even if it accepts writes. */
  #last: Primary | undefined;
  /** The number of searches without a result since the last one with a result. */
  #failures = 0;

  constructor(url: string, name: string) {
    this.urls = hostUrls(url);
    this.#name = name;
  }

  /**
   * Asks all hosts at the same time and returns the URL of the primary. A single host is returned without asking it.
   * Throws a NoPrimaryError if no host accepts writes.
   */
  async find(): Promise<string> {
    if (this.urls.length === 1) return this.urls[0];
    const primaries: Primary[] = [];
    const reasons: string[] = [];
    const rejected = new Set<string>();
    const someAccepts = Promise.withResolvers<void>();
    const timeoutMs = Math.min(MAX_CHECK_MS, CHECK_MS * 2 ** this.#failures);
    const checks = this.urls.map(async (url) => {
      try {
        primaries.push(this.#asPrimary(url, await within(timeoutMs, readStatus(url, this.#name, timeoutMs))));
        someAccepts.resolve();
      } catch (error) {
        reasons.push(`${hostOf(url)}: ${error instanceof Error ? error.message : String(error)}`);
        if (isRejection(error)) rejected.add(hostOf(url));
      }
    });
    const all = Promise.all(checks);
    await Promise.race([all, someAccepts.promise]);
    await within(OTHERS_MS, all).catch(() => undefined);
    // Another search may have found a newer primary meanwhile.
    const current = primaries.filter((found) => !this.#isOutdated(found));
    const primary = current.toSorted((a, b) => b.timeline - a.timeline || this.#rank(a) - this.#rank(b))[0];
    if (!primary) {
      this.#failures++;
      throw new NoPrimaryError(reasons, rejected);
    }
    this.#failures = 0;
    this.#last = primary;
    return primary.url;
  }

  /** Several poolers may lead to the same server: the last one stays in use. */
  #rank({ url }: Primary): number {
    return url === this.#last?.url ? -1 : this.urls.indexOf(url);
  }

  #asPrimary(url: string, { isReadOnly, cluster, timeline }: Status): Primary {
    if (timeline === null) throw new NotPrimary('is a standby');
    if (isReadOnly) throw new NotPrimary('is read-only');
    if (this.#isOutdated({ cluster, timeline })) {
      throw new NotPrimary(`is an old primary (timeline ${timeline}, the newest is ${this.#last?.timeline})`);
    }
    return { url, cluster, timeline };
  }

  #isOutdated({ cluster, timeline }: Omit<Primary, 'url'>): boolean {
    return this.#last?.cluster === cluster && timeline < this.#last.timeline;
  }
}

class NotPrimary extends Error {}

/** True if the host is not the primary for sure; a timeout, for example, may only mean that it is overloaded. */
function isRejection(error: unknown): boolean {
  if (error instanceof NotPrimary) return true;
  // Class 57: the server is starting or stopping.
  if (error instanceof DatabaseError) return error.code?.startsWith('57') === true;
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
}

async function readStatus(url: string, name: string, timeoutMs: number): Promise<Status> {
  const client = new Client({
    connectionString: url,
    application_name: `${name} host check`,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  // Without a listener a lost connection would terminate the process; the query reports the loss.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<Status>(CHECK);
    if (!rows[0]) throw new DeadlineError(timeoutMs);
    return rows[0];
  } finally {
    void client.end().catch(() => undefined);
  }
}

/** Throws unless the server of a new connection accepts writes: since the search it may have become a standby. */
export async function requirePrimary(client: Pick<Client, 'query'>): Promise<void> {
  const response = client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
  const { rows } = await within(CHECK_MS, response);
  if (rows[0]?.standby !== false) throw new NotPrimary('the server is a standby');
}
