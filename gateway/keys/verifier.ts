import type { Clock } from '#kit/clock.ts';
import { ApiError, asApiError, isFault } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { ApiKey } from '#kit/security/api-key.ts';
import type { AuthServiceService, KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { isWithin } from './proof.ts';

/** The most keys that auth is being asked about at a time, and so in one message. */
const MAX_ASKED = 64;
/** The most keys that wait for their turn. */
const MAX_QUEUED = 1_024;
/** Of both, the share of low priority, so that a flood of invalid keys delays no other client's first request. */
const MAX_LOW_ASKED = 16;
const MAX_LOW_QUEUED = 256;
/** The longest that a key waits for its turn. */
const QUEUED_MS = 1_000;
/** How long a failure says that auth is gone, unless another follows. */
const FAILING_MS = 2_500;
/** Belongs to no key: asking about it only shows whether auth answers. */
const NO_KEY = { guildId: '10000000000000000', hash: Buffer.alloc(32) };

/** What auth answered about one key. */
export interface Answer {
  /** Undefined when there is no such key, or no longer. */
  grant: KeyGrant | undefined;
  /** When it was asked, Unix milliseconds. */
  askedAt: number;
  /** The version of the newest change that was heard of while it was asked; 0 = none. */
  changedTo: number;
}

/** What auth needs to know of a key. */
type Asked = Pick<ApiKey, 'guildId' | 'hash'>;

/** `low`: for clients with many failed authentications. */
export type Priority = 'normal' | 'low';

interface Question extends PromiseWithResolvers<Answer> {
  id: string;
  key: Asked;
  priority: Priority;
  queuedAt: number;
  changedTo: number;
}

const MAX_QUEUED_BY: Record<Priority, number> = { normal: MAX_QUEUED, low: MAX_LOW_QUEUED };

export interface VerifierOptions {
  client: GrpcClient<AuthServiceService>;
  clock: Clock;
  /** Called once for each answer, before those who wait for it go on. */
  answered: (id: string, answer: Answer) => void;
}

/** Asks auth about keys: all that are asked for in one turn of the event loop in one message, each key once. */
export class Verifier {
  readonly #options: VerifierOptions;
  readonly #open = new Map<string, Question>();
  readonly #queues: Record<Priority, Question[]> = { normal: [], low: [] };
  /** Keys in flight, by priority. */
  readonly #asked: Record<Priority, number> = { normal: 0, low: 0 };
  #scheduled = false;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: VerifierOptions) {
    this.#options = options;
  }

  /** Whether the last message was not answered, just now. */
  get isFailing(): boolean {
    return isWithin(this.#options.clock.now() - this.#failedAt, FAILING_MS);
  }

  /** Whether the key waits for its turn or for auth's response. */
  isVerifying(id: string): boolean {
    return this.#open.has(id);
  }

  /** What auth says about the key; UNAVAILABLE when it can't be reached, or too many keys wait already. */
  async verify(id: string, key: Asked, priority: Priority = 'normal'): Promise<Answer> {
    const open = this.#open.get(id);
    if (open) return open.promise;
    const queue = this.#queues[priority];
    if (queue.length >= MAX_QUEUED_BY[priority]) throw unavailable('too many keys wait to be verified');
    const queuedAt = this.#options.clock.now();
    const question: Question = { id, key, priority, queuedAt, changedTo: 0, ...Promise.withResolvers<Answer>() };
    this.#open.set(id, question);
    queue.push(question);
    this.#schedule();
    return question.promise;
  }

  /** Notes a change of a key that auth may be being asked about: an older answer is outrun by it. */
  markChanged(id: string, version: number): void {
    const question = this.#open.get(id);
    if (question) question.changedTo = Math.max(question.changedTo, version);
  }

  /** Finds out whether auth answers. */
  async probe(): Promise<void> {
    try {
      await this.#options.client.verify({ keys: [NO_KEY] });
      this.#note(false);
    } catch (error) {
      this.#note(isFault(asApiError(error)));
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#send(this.#next());
    });
  }

  /** Takes from the queues what may be sent now: low priority last, and only up to its share. */
  #next(): Question[] {
    const { normal, low } = this.#asked;
    const first = this.#take('normal', MAX_ASKED - normal - low);
    const room = Math.min(MAX_ASKED - normal - low - first.length, MAX_LOW_ASKED - low);
    return first.concat(this.#take('low', room));
  }

  #take(priority: Priority, most: number): Question[] {
    const now = this.#options.clock.now();
    const taken: Question[] = [];
    while (taken.length < most) {
      const question = this.#queues[priority].shift();
      if (!question) break;
      if (isWithin(now - question.queuedAt, QUEUED_MS)) taken.push(question);
      else this.#fail(question, 'the key has waited too long to be verified');
    }
    return taken;
  }

  async #send(questions: Question[]): Promise<void> {
    if (questions.length === 0) return;
    for (const { priority } of questions) this.#asked[priority] += 1;
    const askedAt = this.#options.clock.now();
    try {
      const grants = await this.#ask(questions);
      this.#note(false);
      for (const [index, question] of questions.entries()) this.#answer(question, grants[index], askedAt);
    } catch (error) {
      this.#note(true);
      for (const question of questions) this.#fail(question, error);
    }
    for (const { priority } of questions) this.#asked[priority] -= 1;
    if (this.#queues.normal.length + this.#queues.low.length > 0) this.#schedule();
  }

  async #ask(questions: Question[]): Promise<(KeyGrant | undefined)[]> {
    const keys = questions.map(({ key }) => ({ guildId: key.guildId, hash: key.hash }));
    const { results } = await this.#options.client.verify({ keys });
    // An answer left out is no refusal.
    if (results.length !== keys.length) throw new Error(`auth answered ${results.length} of ${keys.length} keys`);
    return results.map((result) => result.grant);
  }

  #note(isFailure: boolean): void {
    this.#failedAt = isFailure ? this.#options.clock.now() : Number.NEGATIVE_INFINITY;
  }

  #answer(question: Question, grant: KeyGrant | undefined, askedAt: number): void {
    const answer = { grant, askedAt, changedTo: question.changedTo };
    this.#open.delete(question.id);
    this.#options.answered(question.id, answer);
    question.resolve(answer);
  }

  #fail(question: Question, cause: unknown): void {
    this.#open.delete(question.id);
    question.reject(unavailable(cause));
  }
}

/** Whatever keeps auth from answering, the caller is told to try again: never that the key is bad. */
export function unavailable(cause: unknown): ApiError {
  return new ApiError('UNAVAILABLE', { cause: cause instanceof Error ? cause : new Error(String(cause)) });
}
