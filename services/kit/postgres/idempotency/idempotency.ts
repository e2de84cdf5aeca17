import { randomUUID } from 'node:crypto';
import { ApiError, asApiError, type ErrorCode } from '../../errors.ts';
import { errorBody, type HandlerResult, successBody } from '../../http/envelope.ts';
import type { KeyRing } from '../../security/keyring.ts';
import type { Database, Queryable, Transaction } from '../pool.ts';
import { CLAIM_SECONDS, type Claim, type IdempotentWrite, lockWrite } from './claim.ts';
import { ClaimEnder, type EndClaim } from './claim-ender.ts';

export type { Claim, IdempotentWrite } from './claim.ts';

/**
 * The errors whose responses are stored, because a repeat of the request would fail in the
 * same way.
 */
const STORED_ERRORS: readonly ErrorCode[] = ['NOT_FOUND', 'CONFLICT', 'NOT_APPLICABLE'];
const PURPOSE = 'idempotency';

/** The stored response to an earlier write, which is sent again when the client repeats the write. */
export class StoredResponse {
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    this.status = status;
    this.body = body;
  }
}

export type WriteOutcome<Data> = HandlerResult<Data> | StoredResponse;

interface StoredRow {
  body_hash: Buffer;
  status: number | null;
  answer: Buffer | null;
  claim: string | null;
  /** True if the claim on the write has not expired yet; null if the row holds a response and no claim. */
  is_claimed: boolean | null;
}

export interface IdempotencyOptions {
  /** The database schema of the service, which contains the table `idempotency`. */
  schema: string;
  database: Database;
  ring: KeyRing;
  /** How long, in seconds, the response to a write is stored. */
  responseTtlSeconds: number;
}

/**
 * Stores the responses to writes in `<schema>.idempotency`, in the same database as the rows that the writes change.
 * Claims start and expire by the database's clock, so that no process with a wrong clock takes over a claim that is
 * still held.
 */
export class Idempotency {
  readonly #table: string;
  readonly #database: Database;
  readonly #ring: KeyRing;
  readonly #responseTtlSeconds: number;
  readonly #ender: ClaimEnder;

  constructor({ schema, database, ring, responseTtlSeconds }: IdempotencyOptions) {
    this.#table = `${schema}.idempotency`;
    this.#database = database;
    this.#ring = ring;
    this.#responseTtlSeconds = responseTtlSeconds;
    this.#ender = new ClaimEnder(database, this.#table);
  }

  /** Runs a write and stores its response in one transaction. A repeated write gets the stored response. */
  async inTransaction<Data>(
    write: IdempotentWrite,
    work: (transaction: Transaction) => Promise<HandlerResult<Data>>,
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
   * Runs a write that has to call other systems first. `prepare` makes these calls outside of any transaction, so that
   * no database connection is held meanwhile. `work` and the stored response are one transaction.
   */
  async afterPreparing<Prepared, Data>(
    write: IdempotentWrite,
    prepare: () => Promise<Prepared>,
    work: (transaction: Transaction, prepared: Prepared) => Promise<HandlerResult<Data>>,
  ): Promise<WriteOutcome<Data>> {
    const claim = await this.claim(write);
    if (claim instanceof StoredResponse) return claim;
    try {
      const prepared = await prepare();
      return await this.#database.transaction(async (transaction) => {
        const result = await work(transaction, prepared);
        await this.settle(transaction, claim, result);
        return result;
      });
    } catch (thrown) {
      await this.settleOrRetry(claim, asApiError(thrown)).catch(() => undefined);
      throw thrown;
    }
  }

  /**
   * Claims a write with an external effect. The claim is held for 60 seconds or until its release. A repeat of the
   * write after that gets the same claim ID, with which it finds work that was already started. Returns undefined for a
   * write without an Idempotency-Key.
   */
  async claim(write: IdempotentWrite): Promise<Claim | StoredResponse | undefined> {
    if (write.key === undefined) return undefined;
    let claim: Claim | undefined;
    try {
      return await this.#database.transaction(async (transaction) => {
        const { replay, expiredClaim } = await this.#find(transaction, write);
        if (replay) return replay;
        const id = expiredClaim ?? randomUUID();
        const until = await this.#insert(transaction, write, { status: null, answer: null, claim: id });
        claim = { write, id, until: until?.toISOString() ?? '', isRepeat: expiredClaim !== undefined };
        return claim;
      });
    } catch (error) {
      // The claim may have been committed although the response was lost.
      if (claim) this.#ender.endLater(claim, this.#releaseOf(claim));
      throw error;
    }
  }

  /**
   * Ends the claim on a write in the transaction that does the work: stores the result, or an error that repeats get too. After
   * any other error it deletes the row, unless a repeat has claimed the write again. Changes nothing if a response is stored
   * already. Outside of such a transaction use `settleOrRetry`.
   */
  async settle<Data>(on: Queryable, claim: Claim | undefined, outcome: HandlerResult<Data> | ApiError): Promise<void> {
    await this.#settle(on, claim, outcome, false);
  }

  /**
   * Settles a claim as `settle` does, in a transaction of its own, but stores no error if a repeat has taken it over. Throws if
   * the database fails, and then settles it later, unless the process ends.
   */
  async settleOrRetry<Data>(claim: Claim | undefined, outcome: HandlerResult<Data> | ApiError): Promise<void> {
    const mustHold = outcome instanceof ApiError;
    if (claim) await this.#ender.end(claim, (on) => this.#settle(on, claim, outcome, mustHold));
  }

  /**
   * Releases an unsettled claim on a write, so that the client may repeat the write immediately. The repeat gets the
   * same claim ID. Throws if the database fails, and then releases it later, unless the process ends.
   */
  async releaseOrRetry(claim: Claim | undefined): Promise<void> {
    if (claim) await this.#ender.end(claim, this.#releaseOf(claim));
  }

  /** `mustHold` is true if the claim is not settled once a repeat has taken it over. */
  async #settle(
    on: Queryable,
    claim: Claim | undefined,
    outcome: HandlerResult | ApiError,
    mustHold: boolean,
  ): Promise<void> {
    if (!claim) return;
    const where = 'WHERE guild_id = $1 AND method = $2 AND path = $3 AND key = $4 AND claim = $5 AND status IS NULL';
    const name = [claim.write.guildId, claim.write.method, claim.write.path, claim.write.key, claim.id];
    if (outcome instanceof ApiError && !isStorable(outcome)) {
      await on.query(`DELETE FROM ${this.#table} ${where} AND claimed_until = $6`, [...name, claim.until]);
      return;
    }
    const { status, answer } = this.#recordOf(claim.write, outcome);
    const held = mustHold ? 'AND claimed_until = $8' : '';
    const values = [...name, status, answer, ...(mustHold ? [claim.until] : [])];
    await on.query(`UPDATE ${this.#table} SET status = $6, answer = $7, claimed_until = NULL ${where} ${held}`, values);
  }

  #releaseOf({ write, id, until }: Claim): EndClaim {
    return async (on) => {
      await on.query(
        `UPDATE ${this.#table} SET claimed_until = clock_timestamp()
         WHERE guild_id = $1 AND method = $2 AND path = $3 AND key = $4 AND claim = $5 AND claimed_until = $6`,
        [write.guildId, write.method, write.path, write.key, id, until],
      );
    };
  }

  /**
   * Finds the stored response to a write, or the ID of an expired claim on the same write. Throws CONFLICT if the key
   * was used with another body, while the first request is running, or if the stored response cannot be decrypted.
   */
  async #find(
    transaction: Queryable,
    write: IdempotentWrite,
  ): Promise<{ replay?: StoredResponse; expiredClaim?: string }> {
    const name = [write.guildId, write.method, write.path, write.key];
    // A separate statement reads the row, so that it sees what the previous holder of the lock has committed.
    if (!(await lockWrite(transaction, this.#table, write))) throw stillRunning();
    // A server that restarts, or ends a session, shows a commit that no synchronous standby has received. FOR SHARE makes
    // the transaction of a repeat write, so that its commit waits until a standby has received what it repeats.
    const [row] = await transaction.query<StoredRow>(
      `SELECT body_hash, status, answer, claim, claimed_until > clock_timestamp() AS is_claimed FROM ${this.#table}
       WHERE guild_id = $1 AND method = $2 AND path = $3 AND key = $4
         AND created_at > clock_timestamp() - $5::float8 * interval '1 second' FOR SHARE`,
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

  /** Decrypts a stored response. Throws CONFLICT if the secret that encrypted it has been rotated twice since. */
  #decrypt(response: Buffer): string {
    try {
      return this.#ring.decrypt(PURPOSE, response);
    } catch (cause) {
      throw new ApiError('CONFLICT', { message: UNREADABLE, cause });
    }
  }

  /**
   * Stores the response to a write, or else a claim on the write. Returns when the claim expires; undefined for a
   * response.
   */
  async #insert(transaction: Queryable, write: IdempotentWrite, record: IdempotencyRow): Promise<Date | undefined> {
    // The expiry time identifies the claim. It is truncated to milliseconds, because JavaScript has no microseconds.
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
  /** The response, encrypted because some responses contain a token. */
  answer: Buffer | null;
  claim: string | null;
}

const UNREADABLE =
  'The first request with this Idempotency-Key is complete, but its response is no longer available: read the current state, or use another key';

const stillRunning = () =>
  new ApiError('CONFLICT', { message: 'The first request with this Idempotency-Key is still running', retryAfter: 1 });

/**
 * True if the response to a failed write is stored. An error with Retry-After is not, because the client will repeat
 * the request.
 */
const isStorable = (error: ApiError) => STORED_ERRORS.includes(error.code) && error.retryAfter === undefined;

/** Returns an error whose response must be stored; throws any other error again. */
function storableError(error: unknown): ApiError {
  const rejection = asApiError(error);
  if (isStorable(rejection)) return rejection;
  throw error;
}
