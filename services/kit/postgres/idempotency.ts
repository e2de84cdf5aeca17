import { randomUUID } from 'node:crypto';
import { ApiError, asApiError, type ErrorCode } from '../errors.ts';
import { errorBody, type HandlerResult, successBody } from '../http/envelope.ts';
import type { KeyRing } from '../security/keyring.ts';
import type { Database, Queryable } from './pool.ts';

/** How long a claim on an external effect is held (contract, section 7). */
const CLAIM_SECONDS = 60;
/** The errors whose response is stored (contract, section 7): repeating the request cannot give another result. */
const STORED_ERRORS: readonly ErrorCode[] = ['NOT_FOUND', 'CONFLICT', 'NOT_APPLICABLE'];
const PURPOSE = 'idempotency';

/** Identifies a write that the client may repeat. */
export interface IdempotentWrite {
  guildId: string;
  method: string;
  /** The path of the request, without its query. */
  path: string;
  /** The client's Idempotency-Key; without one the response is not stored. */
  key: string | undefined;
  /** SHA-256 of the body. */
  bodyHash: Buffer;
  /** Status and message of a success, from the route table. */
  status: number;
  message: string;
}

/** The stored response to a repeated write. */
export class StoredResponse {
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    this.status = status;
    this.body = body;
  }
}

export type WriteOutcome<Data> = HandlerResult<Data> | StoredResponse;

/** A claim on a write whose effect is outside this database. It is settled with the response. */
export interface Claim {
  write: Omit<IdempotentWrite, 'bodyHash'>;
  /** A UUID. If an earlier claim on the same write expired without a response, its ID is used again. */
  id: string;
  /** When the claim expires, as ISO 8601. */
  until: string;
  /** True if an earlier claim on the same write may already have started the work. */
  isRepeat: boolean;
}

interface StoredRow {
  body_hash: Buffer;
  status: number | null;
  answer: Buffer | null;
  claim: string | null;
  /** Null without a claim. */
  is_claimed: boolean | null;
}

export interface IdempotencyOptions {
  /** The schema of the service, which has the table. */
  schema: string;
  database: Database;
  ring: KeyRing;
  /** How long a response is stored. */
  responseTtlSeconds: number;
}

/**
 * Stores the responses to writes in `<schema>.idempotency`, in the same database as the rows that they change. Claims
 * start and expire by the database's clock, so that no process with a wrong clock takes over a claim that is still
 * held.
 */
export class Idempotency {
  readonly #table: string;
  readonly #database: Database;
  readonly #ring: KeyRing;
  readonly #responseTtlSeconds: number;

  constructor({ schema, database, ring, responseTtlSeconds }: IdempotencyOptions) {
    this.#table = `${schema}.idempotency`;
    this.#database = database;
    this.#ring = ring;
    this.#responseTtlSeconds = responseTtlSeconds;
  }

  /** Does the work and stores its response in one transaction. A repeated write gets the stored response. */
  async inTransaction<Data>(
    write: IdempotentWrite,
    work: (transaction: Queryable) => Promise<HandlerResult<Data>>,
  ): Promise<WriteOutcome<Data>> {
    const { key } = write;
    if (key === undefined) return this.#database.transaction(work);
    const outcome = await this.#database.transaction(async (transaction) => {
      const { replay } = await this.#find(transaction, write);
      if (replay) return replay;
      await transaction.query('SAVEPOINT work');
      const result = await work(transaction).catch(storableError);
      if (result instanceof ApiError) await transaction.query('ROLLBACK TO SAVEPOINT work');
      await this.#insert(transaction, write, this.#recordOf(write, result));
      return result;
    });
    if (outcome instanceof ApiError) throw outcome;
    return outcome;
  }

  /**
   * For work that has to call other systems first. `prepare` runs outside of any transaction, so that no database
   * connection is held during these calls. `work` and the stored response are one transaction.
   */
  async afterPreparing<Prepared, Data>(
    write: IdempotentWrite,
    prepare: () => Promise<Prepared>,
    work: (transaction: Queryable, prepared: Prepared) => Promise<HandlerResult<Data>>,
  ): Promise<WriteOutcome<Data>> {
    const claim =
      write.key === undefined
        ? undefined
        : await this.#database.transaction((transaction) => this.claim(transaction, write));
    if (claim instanceof StoredResponse) return claim;
    try {
      const prepared = await prepare();
      return await this.#database.transaction(async (transaction) => {
        const result = await work(transaction, prepared);
        await this.settle(transaction, claim, result);
        return result;
      });
    } catch (thrown) {
      // If the claim cannot be settled now, it expires.
      await this.settle(this.#database, claim, asApiError(thrown)).catch(() => undefined);
      throw thrown;
    }
  }

  /**
   * Claims a write with an external effect, in the transaction that records the planned work. The claim is held for 60
   * s or until it is released. The same write after that gets the same claim ID, so that work that was already started
   * is found. Returns undefined for a write without a key.
   */
  async claim(transaction: Queryable, write: IdempotentWrite): Promise<Claim | StoredResponse | undefined> {
    if (write.key === undefined) return undefined;
    const { replay, expiredClaim } = await this.#find(transaction, write);
    if (replay) return replay;
    const id = expiredClaim ?? randomUUID();
    const until = await this.#insert(transaction, write, { status: null, answer: null, claim: id });
    return { write, id, until: until?.toISOString() ?? '', isRepeat: expiredClaim !== undefined };
  }

  /**
   * Settles a claim, unless it is already settled: stores a result or a storable error. For any other error it deletes
   * the claim, unless a repeated write has taken it over.
   */
  async settle<Data>(on: Queryable, claim: Claim | undefined, outcome: HandlerResult<Data> | ApiError): Promise<void> {
    if (!claim) return;
    const where = 'WHERE guild_id = $1 AND method = $2 AND path = $3 AND key = $4 AND claim = $5 AND status IS NULL';
    const name = [claim.write.guildId, claim.write.method, claim.write.path, claim.write.key, claim.id];
    if (outcome instanceof ApiError && !isStorable(outcome)) {
      await on.query(`DELETE FROM ${this.#table} ${where} AND claimed_until = $6`, [...name, claim.until]);
      return;
    }
    const { status, answer } = this.#recordOf(claim.write, outcome);
    await on.query(`UPDATE ${this.#table} SET status = $6, answer = $7, claimed_until = NULL ${where}`, [
      ...name,
      status,
      answer,
    ]);
  }

  /** Releases an unsettled claim but keeps its ID: the same write may be repeated immediately. */
  async release(on: Queryable, { write, id, until }: Claim): Promise<void> {
    await on.query(
      `UPDATE ${this.#table} SET claimed_until = clock_timestamp()
       WHERE guild_id = $1 AND method = $2 AND path = $3 AND key = $4 AND claim = $5 AND claimed_until = $6`,
      [write.guildId, write.method, write.path, write.key, id, until],
    );
  }

  /**
   * Returns the stored response, or the ID of an expired claim on the same write, if there is any. Throws CONFLICT for
   * another body, while the first request is running, or if its response cannot be decrypted.
   */
  async #find(
    transaction: Queryable,
    write: IdempotentWrite,
  ): Promise<{ replay?: StoredResponse; expiredClaim?: string }> {
    const name = [write.guildId, write.method, write.path, write.key];
    // Held until the transaction ends. The row is read by a separate statement, so that it sees what the previous
    // holder of the lock has committed.
    const [lock] = await transaction.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS taken',
      [[this.#table, ...name].join('\n')],
    );
    if (!lock?.taken) throw stillRunning();
    const [row] = await transaction.query<StoredRow>(
      `SELECT body_hash, status, answer, claim, claimed_until > clock_timestamp() AS is_claimed FROM ${this.#table}
       WHERE guild_id = $1 AND method = $2 AND path = $3 AND key = $4
         AND created_at > clock_timestamp() - $5::float8 * interval '1 second'`,
      [...name, this.#responseTtlSeconds],
    );
    if (!row) return {};
    const isClaimed = row.is_claimed === true;
    const isSame = row.body_hash.equals(write.bodyHash);
    if (row.status === null && !isClaimed) return isSame && row.claim !== null ? { expiredClaim: row.claim } : {};
    if (!isSame) {
      throw new ApiError('CONFLICT', { message: 'This Idempotency-Key was used with another body' });
    }
    if (row.status === null || row.answer === null) throw stillRunning();
    return { replay: new StoredResponse(row.status, this.#decrypt(row.answer)) };
  }

  /** Throws CONFLICT if the secret that the response was encrypted with has been rotated twice since. */
  #decrypt(response: Buffer): string {
    try {
      return this.#ring.decrypt(PURPOSE, response);
    } catch (cause) {
      throw new ApiError('CONFLICT', { message: UNREADABLE, cause });
    }
  }

  /** Inserts a record and returns when its claim expires, if it has one. */
  async #insert(transaction: Queryable, write: IdempotentWrite, record: IdempotencyRow): Promise<Date | undefined> {
    // Truncated to milliseconds, because the time identifies the claim and JavaScript has no microseconds.
    const [row] = await transaction.query<{ until: Date | null }>(
      `INSERT INTO ${this.#table}
         (guild_id, method, path, key, body_hash, status, answer, claim, claimed_until, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8,
         CASE WHEN $8::uuid IS NOT NULL
           THEN date_trunc('milliseconds', clock_timestamp()) + $9::float8 * interval '1 second' END, clock_timestamp())
       ON CONFLICT (guild_id, method, path, key) DO UPDATE SET body_hash = excluded.body_hash,
         status = excluded.status, answer = excluded.answer, claim = excluded.claim,
         claimed_until = excluded.claimed_until, created_at = excluded.created_at
       RETURNING claimed_until AS until`,
      [
        write.guildId,
        write.method,
        write.path,
        write.key,
        write.bodyHash,
        record.status,
        record.answer,
        record.claim,
        CLAIM_SECONDS,
      ],
    );
    return row?.until ?? undefined;
  }

  #recordOf(write: Claim['write'], outcome: HandlerResult | ApiError): IdempotencyRow {
    const status = outcome instanceof ApiError ? outcome.httpStatus : (outcome.status ?? write.status);
    const body =
      outcome instanceof ApiError
        ? errorBody(outcome)
        : successBody(status, outcome.message ?? write.message, outcome.data);
    return { status, answer: this.#ring.encrypt(PURPOSE, body), claim: null };
  }
}

interface IdempotencyRow {
  status: number | null;
  /** The encrypted response; some responses contain a token. */
  answer: Buffer | null;
  claim: string | null;
}

const UNREADABLE =
  'The first request with this Idempotency-Key is complete, but its response is no longer available: read the current state, or use another key';

const stillRunning = () =>
  new ApiError('CONFLICT', { message: 'The first request with this Idempotency-Key is still running', retryAfter: 1 });

/** An error with Retry-After is not stored, because the client is expected to repeat the request. */
const isStorable = (error: ApiError) => STORED_ERRORS.includes(error.code) && error.retryAfter === undefined;

/** Returns an error whose response must be stored; throws any other error. */
function storableError(error: unknown): ApiError {
  const rejection = asApiError(error);
  if (isStorable(rejection)) return rejection;
  throw error;
}
