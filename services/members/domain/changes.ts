import type { Clock } from '#kit/clock.ts';
import { ApiError, asApiError, isFault } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { type Answer, ok } from '#kit/http/envelope.ts';
import {
  type Claim,
  type Idempotency,
  type RepeatableWrite,
  Replay,
  type WriteOutcome,
} from '#kit/postgres/idempotency.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { changeViews } from '../http/views.ts';
import * as store from '../store/intents.ts';
import { type Change, isSameChange, type NewIntent } from '../store/intents.ts';
import type { RoleTask } from '../store/role-tasks.ts';
import { completeToken, freeToken, holdToken } from '../store/tokens.ts';
import type { MembersEvents } from '../telemetry/members.ts';
import type { RoleTasks } from './role-tasks.ts';

/** After this long whoever began an intent has given up, and a worker of any replica finishes it. */
const ABANDONED_MS = 10_000;
/** How often a change begins anew because another took its token first. */
const MOST_BEGINNINGS = 5;
/** How long an unlink waits until the roles that were given are taken back. */
const TAKE_BACK_MS = 3_000;
/** An account seldom has more than one open intent. */
const EARLIER_BATCH = 20;

type Kind = Change['kind'];
type AnswerTo<Of extends Kind> = Answer<ReturnType<(typeof changeViews)[Of]>>;
/** What lookup made of a change: the link that was made or removed, or why not. */
type Outcome = Link | ApiError;

export interface ChangesOptions {
  database: Database;
  idempotency: Idempotency;
  lookup: GrpcClient<typeof LookupServiceService>;
  clock: Clock;
  /** UUIDs. */
  newOperationId: () => string;
  roleTasks: RoleTasks;
  events: MembersEvents;
}

/**
 * Changes of links cross two stores: what is intended is written here, lookup is called with the intent's ID as often
 * as it takes, then intent, token and kept answer are settled in one transaction. Why this is safe at every step is
 * in deploy/decisions/0001-links-cross-two-stores.md.
 */
export class LinkChanges {
  readonly #options: ChangesOptions;
  /** Those who wait for the same intent wait for one call. */
  readonly #running = new Map<string, Promise<Outcome>>();

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  /**
   * Carries out a change, or gives the first answer to it again. `prepare` says what the change is, and throws where
   * there is nothing to change; it is asked anew when another took the token first.
   */
  async perform<Of extends Kind>(
    write: RepeatableWrite,
    prepare: () => Promise<Change & { kind: Of }>,
  ): Promise<WriteOutcome<AnswerTo<Of>['data']>> {
    const claim = await this.#claim(write);
    if (claim instanceof Replay) return claim;
    const begun = claim?.isRepeat ? await store.findIntent(this.#options.database, write.guildId, claim.id) : undefined;
    if (claim && begun) {
      const answer = answerTo(begun.kind as Of, await this.#finishFor(claim, begun));
      await this.#keepAnswer(claim, answer);
      return told(answer);
    }
    for (let beginning = 0; beginning < MOST_BEGINNINGS; beginning++) {
      const { change, repeated } = await this.#prepare(write.guildId, claim, prepare);
      if (repeated) {
        await this.#keepAnswer(claim, answerTo(change.kind, repeated));
        return told(answerTo(change.kind, repeated));
      }
      const intent = await this.#begin(write.guildId, change, claim);
      if (intent) return told(answerTo(change.kind, await this.#finishFor(claim, intent)));
    }
    const busy = new ApiError('UNAVAILABLE', { message: 'Too many want this at once, try again soon' });
    await this.#keepAnswer(claim, busy);
    throw busy;
  }

  /** Where lookup fails nobody is at work any more: a repeat may finish the intent at once. */
  async #finishFor(claim: Claim | undefined, intent: NewIntent): Promise<Outcome> {
    const { database, idempotency } = this.#options;
    try {
      return await this.finish(intent);
    } catch (error) {
      // When this fails too, the intent is due in a while all the same.
      await store.abandonIntent(database, intent, asApiError(error).code).catch(() => undefined);
      // A claim that can't be ended now ends of itself.
      if (claim) await idempotency.release(database, claim).catch(() => undefined);
      throw error;
    }
  }

  /** Calls lookup and settles; may be repeated by anybody at any time. Throws when lookup or the database fails. */
  finish(intent: NewIntent): Promise<Outcome> {
    const running = this.#running.get(intent.operationId);
    if (running) return running;
    const started = this.#finish(intent).finally(() => this.#running.delete(intent.operationId));
    this.#running.set(intent.operationId, started);
    return started;
  }

  /** An operator has discarded an intent: its token works again, and a repeat of its request has this for an answer. */
  async discard(transaction: Queryable, guildId: string, operationId: string): Promise<void> {
    const intent = await store.findIntent(transaction, guildId, operationId);
    if (!intent) return;
    if (intent.tokenId !== null) await freeToken(transaction, guildId, intent.tokenId);
    const discarded = new ApiError('CONFLICT', { message: 'An operator has discarded this change' });
    await this.#options.idempotency.settle(transaction, intent.claim ?? undefined, discarded);
  }

  async #claim(write: RepeatableWrite): Promise<Claim | Replay | undefined> {
    const { database, idempotency } = this.#options;
    if (write.key === undefined) return undefined;
    return database.transaction((transaction) => idempotency.claim(transaction, write));
  }

  /** Nothing is written yet, so every error here is an answer of its own and ends the claim. */
  async #prepare<Of extends Kind>(
    guildId: string,
    claim: Claim | undefined,
    prepare: () => Promise<Change & { kind: Of }>,
  ): Promise<{ change: Change & { kind: Of }; repeated: Outcome | undefined }> {
    try {
      const change = await prepare();
      return { change, repeated: await this.#finishEarlier(guildId, change) };
    } catch (error) {
      await this.#keepAnswer(claim, asApiError(error));
      throw error;
    }
  }

  /**
   * Finishes what is still open on either account, or it could undo this change later. Where one of these is the same
   * change, given up by its caller, its outcome is that of this one too.
   */
  async #finishEarlier(guildId: string, change: Change): Promise<Outcome | undefined> {
    const { database } = this.#options;
    let repeated: Outcome | undefined;
    for (let found = EARLIER_BATCH; found === EARLIER_BATCH; ) {
      const open = await store.openIntents(database, guildId, change, EARLIER_BATCH);
      for (const earlier of open) {
        const outcome = await this.finish(earlier);
        if (earlier.isAbandoned && isSameChange(earlier, change)) repeated ??= outcome;
      }
      found = open.length;
    }
    return repeated;
  }

  /** Writes the intent and takes its token; undefined when the token is taken. An error may come after the commit. */
  #begin(guildId: string, change: Change, claim: Claim | undefined): Promise<NewIntent | undefined> {
    const { database, clock, newOperationId } = this.#options;
    const now = new Date(clock.now());
    const intent: NewIntent = {
      ...change,
      guildId,
      // Whoever repeats the write finds it by the key's claim.
      operationId: claim?.id ?? newOperationId(),
      claim: claim ?? null,
    };
    return database.transaction(async (transaction) => {
      const { tokenId, operationId } = intent;
      if (tokenId !== null && !(await holdToken(transaction, guildId, tokenId, operationId, now))) return undefined;
      if (await store.insertIntent(transaction, intent, ABANDONED_MS)) return intent;
      // The first request, which was held up for longer than its claim held, has just begun it.
      return store.findIntent(transaction, guildId, operationId);
    });
  }

  async #finish(intent: NewIntent): Promise<Outcome> {
    const { events } = this.#options;
    try {
      const outcome = await this.#callLookup(intent);
      await this.#settle(intent, outcome);
      return outcome;
    } catch (error) {
      events.changeFailed(intent, error);
      throw error;
    }
  }

  /** Lookup gives every call with this operation's ID the same outcome. */
  async #callLookup(intent: NewIntent): Promise<Outcome> {
    const { lookup } = this.#options;
    const { guildId, operationId, chatId, gameId, gameUsername } = intent;
    try {
      const { link } =
        intent.kind === 'unlink'
          ? await lookup.deleteLink({ guildId, operationId, account: accountOf(intent) })
          : await lookup.createLink({
              guildId,
              operationId,
              chatId: chatId ?? '',
              gameId: gameId ?? 0,
              gameUsername: gameUsername ?? '',
            });
      return link ?? new ApiError('INTERNAL', { cause: new Error('lookup answered without a link') });
    } catch (thrown) {
      const error = asApiError(thrown);
      if (isFault(error)) throw error;
      if (error.code === 'CONFLICT' || error.code === 'NOT_FOUND') return error;
      // Refused for good: tried again it would be refused again.
      return new ApiError('INTERNAL', { cause: error });
    }
  }

  /** Only one of those who finish an intent settles it. */
  async #settle(intent: NewIntent, outcome: Outcome): Promise<void> {
    const { database, idempotency, clock, roleTasks, events } = this.#options;
    const { guildId, tokenId } = intent;
    const now = new Date(clock.now());
    const settled = await database.transaction(async (transaction) => {
      if (!(await store.finishIntent(transaction, intent))) return undefined;
      if (tokenId !== null) {
        if (outcome instanceof ApiError) await freeToken(transaction, guildId, tokenId);
        else await completeToken(transaction, guildId, tokenId, outcome.gameId, now);
      }
      await idempotency.settle(transaction, intent.claim ?? undefined, answerTo(intent.kind, outcome));
      if (outcome instanceof ApiError) return { roles: undefined };
      return { roles: await roleTasks.queue(transaction, { guildId, chatId: outcome.chatId }) };
    });
    if (!settled) return;
    if (outcome instanceof ApiError) events.changeRefused(intent, outcome);
    else events.changeDone(intent, outcome);
    if (settled.roles) await this.#followUp(intent.kind, settled.roles);
  }

  /** The roles follow in the background; an unlink waits a while for them. */
  async #followUp(kind: Kind, task: RoleTask): Promise<void> {
    const { roleTasks } = this.#options;
    roleTasks.begin(task);
    if (kind === 'unlink') await roleTasks.attempted(task, TAKE_BACK_MS);
  }

  #keepAnswer(claim: Claim | undefined, answer: Answer | ApiError): Promise<void> {
    const { database, idempotency } = this.#options;
    return idempotency.settle(database, claim, answer);
  }
}

function answerTo<Of extends Kind>(kind: Of, outcome: Outcome): AnswerTo<Of> | ApiError {
  return outcome instanceof ApiError ? outcome : (ok(changeViews[kind](outcome)) as AnswerTo<Of>);
}

function told<Data>(answer: Answer<Data> | ApiError): Answer<Data> {
  if (answer instanceof ApiError) throw answer;
  return answer;
}

function accountOf({ chatId, gameId }: Change) {
  return chatId === null
    ? { $case: 'gameId' as const, value: gameId ?? 0 }
    : { $case: 'chatId' as const, value: chatId };
}
