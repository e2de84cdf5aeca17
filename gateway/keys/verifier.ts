import type { ApiKey } from '#kit/api-key.ts';
import type { Clock } from '#kit/clock.ts';
import { ApiError, asApiError, isFault } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc-client.ts';
import type { AuthServiceService, KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { isWithin } from './proof.ts';

/** The most keys that auth is being asked about at a time, and so in one message. */
const MAX_ASKED = 64;
/** The most keys that wait for their turn. */
const MAX_QUEUED = 1_024;
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

interface Question extends PromiseWithResolvers<Answer> {
  id: string;
  key: Asked;
  queuedAt: number;
  changedTo: number;
}

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
  readonly #queue: Question[] = [];
  #asked = 0;
  #scheduled = false;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: VerifierOptions) {
    this.#options = options;
  }

  /** Whether the last message was not answered, just now. */
  get isFailing(): boolean {
    return isWithin(this.#options.clock.now() - this.#failedAt, FAILING_MS);
  }

  /** What auth says about the key; UNAVAILABLE when it can't be reached, or too many keys wait already. */
  async verify(id: string, key: Asked): Promise<Answer> {
    const open = this.#open.get(id);
    if (open) return open.promise;
    if (this.#queue.length >= MAX_QUEUED) throw unavailable('too many keys wait to be verified');
    const queuedAt = this.#options.clock.now();
    const question: Question = { id, key, queuedAt, changedTo: 0, ...Promise.withResolvers<Answer>() };
    this.#open.set(id, question);
    this.#queue.push(question);
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

  /** Takes from the queue what may be asked now. */
  #next(): Question[] {
    const now = this.#options.clock.now();
    const next: Question[] = [];
    while (next.length < MAX_ASKED - this.#asked) {
      const question = this.#queue.shift();
      if (!question) break;
      if (isWithin(now - question.queuedAt, QUEUED_MS)) next.push(question);
      else this.#fail(question, 'the key has waited too long to be verified');
    }
    return next;
  }

  async #send(questions: Question[]): Promise<void> {
    if (questions.length === 0) return;
    this.#asked += questions.length;
    const askedAt = this.#options.clock.now();
    try {
      const grants = await this.#ask(questions);
      this.#note(false);
      for (const [index, question] of questions.entries()) this.#answer(question, grants[index], askedAt);
    } catch (error) {
      this.#note(true);
      for (const question of questions) this.#fail(question, error);
    }
    this.#asked -= questions.length;
    if (this.#queue.length > 0) this.#schedule();
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
