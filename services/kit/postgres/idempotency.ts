import { randomUUID } from 'node:crypto';
import { ApiError, asApiError, type ErrorCode } from '../errors.ts';
import { type Answer, errorBody, successBody } from '../http/envelope.ts';
import type { KeyRing } from '../security/keyring.ts';
import type { Database, Queryable } from './pool.ts';

/** How long a claim on an outside effect holds (contract, section 7). */
const CLAIM_SECONDS = 60;
/** Errors whose response is stored (contract, section 7): a repeat of the request cannot have another outcome. */
const STORED_ERRORS: readonly ErrorCode[] = ['NOT_FOUND', 'CONFLICT', 'NOT_APPLICABLE'];
const PURPOSE = 'idempotency';

/** What names a write that its caller may repeat. */
export interface RepeatableWrite {
  guildId: string;
  method: string;
  /** The path as called, without its query. */
  path: string;
  /** The caller's Idempotency-Key; without one the write is not remembered. */
  key: string | undefined;
  /** SHA-256 of the body. */
  bodyHash: Buffer;
  /** Status and message of success, from the route table. */
  status: number;
  message: string;
}

/** The first answer to a write, given again. */
export class Replay {
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    this.status = status;
    this.body = body;
  }
}

export type WriteOutcome<Data> = Answer<Data> | Replay;

/** A claim on a write whose effect is outside this database; settled with its answer. */
export interface Claim {
  write: Omit<RepeatableWrite, 'bodyHash'>;
  /** A UUID; of a repeat whose first claim has ended without an answer, that of the first. */
  id: string;
  /** When it ends of itself, as ISO 8601. */
  until: string;
  /** Whether the first may have begun the work. */
  isRepeat: boolean;
}

interface StoredRow {
  body_hash: Buffer;
  status: number | null;
  answer: Buffer | null;
  claim: string | null;
  /** Null where there is no claim. */
  is_claimed: boolean | null;
}

export interface IdempotencyOptions {
  /** The service's own, which has the table. */
  schema: string;
  database: Database;
  ring: KeyRing;
  /** How long a first answer is given again. */
  keptSeconds: number;
}

/**
 * Remembers answers in `<schema>.idempotency`, beside the rows that the writes change. Claims begin and end by the
 * database's clock, so that no process with a wrong clock takes over a claim that is live.
 */
export class Idempotency {
  readonly #table: string;
  readonly #database: Database;
  readonly #ring: KeyRing;
  readonly #keptSeconds: number;

  constructor({ schema, database, ring, keptSeconds }: IdempotencyOptions) {
    this.#table = `${schema}.idempotency`;
    this.#database = database;
    this.#ring = ring;
    this.#keptSeconds = keptSeconds;
  }

  /** Does the work and remembers its answer in one transaction; a repeat gets the first answer. */
  async inTransaction<Data>(
    write: RepeatableWrite,
    work: (transaction: Queryable) => Promise<Answer<Data>>,
  ): Promise<WriteOutcome<Data>> {
    const { key } = write;
    if (key === undefined) return this.#database.transaction(work);
    const outcome = await this.#database.transaction(async (transaction) => {
      const { replay } = await this.#find(transaction, write);
      if (replay) return replay;
      await transaction.query('SAVEPOINT work');
      const answer = await work(transaction).catch(keptRefusal);
      if (answer instanceof ApiError) await transaction.query('ROLLBACK TO SAVEPOINT work');
      await this.#insert(transaction, write, this.#finished(write, answer));
      return answer;
    });
    if (outcome instanceof ApiError) throw outcome;
    return outcome;
  }

  /**
   * For work that has to ask other systems first: `prepare` runs outside any transaction, so that no connection waits
   * for them; `work` and the answer to remember are one transaction.
   */
  async afterPreparing<Prepared, Data>(
    write: RepeatableWrite,
    prepare: () => Promise<Prepared>,
    work: (transaction: Queryable, prepared: Prepared) => Promise<Answer<Data>>,
  ): Promise<WriteOutcome<Data>> {
    const claim =
      write.key === undefined
        ? undefined
        : await this.#database.transaction((transaction) => this.claim(transaction, write));
    if (claim instanceof Replay) return claim;
    try {
      const prepared = await prepare();
      return await this.#database.transaction(async (transaction) => {
        const answer = await work(transaction, prepared);
        await this.settle(transaction, claim, answer);
        return answer;
      });
    } catch (thrown) {
      // A claim that can't be ended now ends of itself.
      await this.settle(this.#database, claim, asApiError(thrown)).catch(() => undefined);
      throw thrown;
    }
  }

  /**
   * Claims a write whose effect is outside, in the transaction that records what is about to be done.
   * The claim holds for 60 s, or until its release; the same write after that has the claim's ID, so that what the first
   * has begun is found.
   * Without a key there is nothing to claim.
   */
  async claim(transaction: Queryable, write: RepeatableWrite): Promise<Claim | Replay | undefined> {
    if (write.key === undefined) return undefined;
    const { replay, lapsed } = await this.#find(transaction, write);
    if (replay) return replay;
    const id = lapsed ?? randomUUID();
    const until = await this.#insert(transaction, write, { status: null, answer: null, claim: id });
    return { write, id, until: until?.toISOString() ?? '', isRepeat: lapsed !== undefined };
  }

  /**
   * Settles a claim that is not settled yet: remembers an answer or a refusal that is kept, and forgets the claim for
   * any other error, unless a repeat has it by now.
   */
  async settle<Data>(on: Queryable, claim: Claim | undefined, outcome: Answer<Data> | ApiError): Promise<void> {
    if (!claim) return;
    const where = 'WHERE guild_id = $1 AND method = $2 AND path = $3 AND key = $4 AND claim = $5 AND status IS NULL';
    const name = [claim.write.guildId, claim.write.method, claim.write.path, claim.write.key, claim.id];
    if (outcome instanceof ApiError && !isKept(outcome)) {
      await on.query(`DELETE FROM ${this.#table} ${where} AND claimed_until = $6`, [...name, claim.until]);
      return;
    }
    const { status, answer } = this.#finished(claim.write, outcome);
    await on.query(`UPDATE ${this.#table} SET status = $6, answer = $7, claimed_until = NULL ${where}`, [
      ...name,
      status,
      answer,
    ]);
  }

  /** Ends a claim that is not settled, but for its ID: the same write may be tried again at once. */
  async release(on: Queryable, { write, id, until }: Claim): Promise<void> {
    await on.query(
      `UPDATE ${this.#table} SET claimed_until = clock_timestamp()
       WHERE guild_id = $1 AND method = $2 AND path = $3 AND key = $4 AND claim = $5 AND claimed_until = $6`,
      [write.guildId, write.method, write.path, write.key, id, until],
    );
  }

  /**
   * The first answer, or the ID of a claim on the same write that has ended without one, if there is any. CONFLICT for
   * another body, while the first is at work, or where its answer can't be read.
   */
  async #find(transaction: Queryable, write: RepeatableWrite): Promise<{ replay?: Replay; lapsed?: string }> {
    const name = [write.guildId, write.method, write.path, write.key];
    // Held until the transaction ends. The row is read by a statement of its own, so that it sees what the
    // holder before has committed.
    const [lock] = await transaction.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS taken',
      [[this.#table, ...name].join('\n')],
    );
    if (!lock?.taken) throw stillRunning();
    const [row] = await transaction.query<StoredRow>(
      `SELECT body_hash, status, answer, claim, claimed_until > clock_timestamp() AS is_claimed FROM ${this.#table}
       WHERE guild_id = $1 AND method = $2 AND path = $3 AND key = $4
         AND created_at > clock_timestamp() - $5::float8 * interval '1 second'`,
      [...name, this.#keptSeconds],
    );
    if (!row) return {};
    const isClaimed = row.is_claimed === true;
    const isSame = row.body_hash.equals(write.bodyHash);
    if (row.status === null && !isClaimed) return isSame && row.claim !== null ? { lapsed: row.claim } : {};
    if (!isSame) {
      throw new ApiError('CONFLICT', { message: 'This Idempotency-Key was used with another body' });
    }
    if (row.status === null || row.answer === null) throw stillRunning();
    return { replay: new Replay(row.status, this.#open(row.answer)) };
  }

  /** CONFLICT where the secret that the answer was encrypted under has been replaced twice since. */
  #open(answer: Buffer): string {
    try {
      return this.#ring.decrypt(PURPOSE, answer);
    } catch (cause) {
      throw new ApiError('CONFLICT', { message: UNREADABLE, cause });
    }
  }

  /** When its claim ends, if the record has one. */
  async #insert(transaction: Queryable, write: RepeatableWrite, record: IdempotencyRow): Promise<Date | undefined> {
    // Of milliseconds, which name the claim wherever it is kept.
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

  #finished(write: Claim['write'], outcome: Answer | ApiError): IdempotencyRow {
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
  /** Encrypted, since some answers hold a token. */
  answer: Buffer | null;
  claim: string | null;
}

const UNREADABLE =
  'The first request with this Idempotency-Key was answered, and the answer can not be given again: read what is there, or use another key';

const stillRunning = () =>
  new ApiError('CONFLICT', { message: 'The first request with this Idempotency-Key is still running', retryAfter: 1 });

/** An error with Retry-After asks for the same request again, so it is not stored. */
const isKept = (error: ApiError) => STORED_ERRORS.includes(error.code) && error.retryAfter === undefined;

/** Refusals that are kept become values; all else is thrown on. */
function keptRefusal(error: unknown): ApiError {
  const refusal = asApiError(error);
  if (isKept(refusal)) return refusal;
  throw error;
}
