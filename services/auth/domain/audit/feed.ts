import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { isDataException } from '#kit/postgres/database-errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type {
  AuditFeedEntry,
  DeleteEntriesRequest,
  TakeEntriesRequest,
  TakeEntriesResponse,
} from '#proto/gen/guild/events/v1/events.ts';
import { appendFeedEntries, endFeedLease, type FeedEntry, takeFeedLease } from '../../store/audit-feed.ts';
import type { AuthTelemetry } from '../../telemetry.ts';

/** The mean time between two reads of the feed; each wait varies by plus or minus a half. */
const INTERVAL_MS = 500;
const MAX_BACKOFF_MS = 10_000;
/** How long a process that died keeps others from reading the feed. */
const LEASE_MS = 10_000;
/** The maximum number of reads in a row; the next run begins with the first guild again. */
const MAX_ROUNDS = 1_000;

export interface AuditFeedOptions {
  database: Database;
  take: (request: TakeEntriesRequest) => Promise<TakeEntriesResponse>;
  remove: (request: DeleteEntriesRequest) => Promise<unknown>;
  telemetry: AuthTelemetry;
}

/**
 * Writes the changes of API keys and persons, which the events service collects, into the audit. One process of auth
 * does it at a time, so that the entries of a guild keep their order. An entry is deleted from the events service after
 * it was committed here; its unique ID keeps it from being appended again if the deletion fails.
 */
export class AuditFeed implements Part {
  readonly name = 'audit feed';
  readonly #options: AuditFeedOptions;
  readonly #process = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;
  #leasedUntil = 0;
  #failures = 0;

  constructor(options: AuditFeedOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#schedule();
  }

  async drain(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
    if (this.#leasedUntil > 0) await endFeedLease(this.#options.database, this.#process).catch(() => undefined);
  }

  #schedule(): void {
    if (this.#isStopped) return;
    const delay = Math.min(MAX_BACKOFF_MS, INTERVAL_MS * 2 ** this.#failures) * (0.5 + Math.random());
    this.#timer = setTimeout(() => {
      this.#running = this.#run().finally(() => this.#schedule());
    }, delay).unref();
  }

  async #run(): Promise<void> {
    try {
      if (await this.#storeAll()) this.#failures = 0;
      else this.#failures++;
    } catch (error) {
      // Logs only the first failure of an outage, because every read fails until the outage ends.
      if (this.#failures++ === 0) this.#options.telemetry.auditFeedFailed(error);
    }
  }

  /** Stores the entries of all guilds, some of each guild in turn. Returns false if those of a guild could not be stored. */
  async #storeAll(): Promise<boolean> {
    let isComplete = true;
    for (let [round, after] = [0, '']; round < MAX_ROUNDS && !this.#isStopped; round++) {
      if (!(await this.#isOwner())) return true;
      const received = performance.now();
      const { entries, validMs } = await this.#options.take({ afterGuildId: after });
      const last = entries.at(-1);
      if (!last) return isComplete;
      after = last.guildId;
      for (const [guildId, ofGuild] of Map.groupBy(entries, (entry) => entry.guildId)) {
        // Later the persons in the entries may have been erased; the events service still has the rest of each entry.
        if (performance.now() - received >= validMs) return isComplete;
        if (!(await this.#store(guildId, ofGuild))) isComplete = false;
      }
    }
    return isComplete;
  }

  /** A failure concerns one guild, or the next guild fails too: the entries stay in the events service. */
  async #store(guildId: string, entries: readonly AuditFeedEntry[]): Promise<boolean> {
    const { remove, telemetry } = this.#options;
    try {
      telemetry.auditFed(await this.#append(guildId, entries));
      await remove({ entries: entries.map(({ id }) => ({ guildId, id })) });
      return true;
    } catch (error) {
      if (this.#failures === 0) telemetry.auditFeedFailed(error, guildId);
      return false;
    }
  }

  /** Appends entries together, or one by one if one of them cannot be stored: of that one the details are left out. */
  async #append(guildId: string, entries: readonly AuditFeedEntry[]): Promise<number> {
    const { database, telemetry } = this.#options;
    try {
      return await appendFeedEntries(database, guildId, entries.map(feedEntry));
    } catch (error) {
      if (!isUnstorable(error)) throw error;
      const [entry] = entries;
      if (entry && entries.length === 1) {
        telemetry.auditEntryUnstorable(guildId, entry.id, error);
        return appendFeedEntries(database, guildId, [withoutDetails(entry)]);
      }
      let stored = 0;
      for (const each of entries) stored += await this.#append(guildId, [each]);
      return stored;
    }
  }

  /** True if this process may read the feed. */
  async #isOwner(): Promise<boolean> {
    const now = performance.now();
    if (now < this.#leasedUntil - LEASE_MS / 2) return true;
    const isOwner = await takeFeedLease(this.#options.database, this.#process, LEASE_MS);
    this.#leasedUntil = isOwner ? now + LEASE_MS : 0;
    return isOwner;
  }
}

const isUnstorable = (error: unknown) => isDataException(error) || error instanceof SyntaxError;

/** Returns the audit entry about a change: who made it from where, and the record before and after it. */
function feedEntry({ id, action, service, createdAtMs, source, persons, before, after }: AuditFeedEntry): FeedEntry {
  const { kind = '', id: sourceId = '', requestId, address, role } = source ?? {};
  const person = kind === 'console' ? { person: { id: sourceId, role } } : {};
  const records = { before: before && JSON.parse(before), after: after && JSON.parse(after) };
  return {
    id,
    at: new Date(createdAtMs),
    actor: kind === 'console' ? 'console' : `key ${sourceId}`,
    action,
    service,
    details: { ...person, address, request_id: requestId, ...records },
    persons,
  };
}

function withoutDetails(entry: AuditFeedEntry): FeedEntry {
  const rest = feedEntry({ ...entry, before: undefined, after: undefined, source: undefined });
  return { ...rest, actor: entry.source?.kind === 'console' ? 'console' : 'key', details: { unreadable: true } };
}
