import type { Clock } from '#kit/clock.ts';
import { ApiError, asApiError, isServerError } from '#kit/errors.ts';
import { currentEventSource, withEventSource } from '#kit/events/source.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { type HandlerResult, ok } from '#kit/http/envelope.ts';
import {
  type Claim,
  type Idempotency,
  type IdempotentWrite,
  StoredResponse,
  type WriteOutcome,
} from '#kit/postgres/idempotency/idempotency.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { storedSource } from '../events.ts';
import * as store from '../store/intents.ts';
import { type Change, isSameChange, type NewIntent } from '../store/intents.ts';
import type { RoleTask } from '../store/role-tasks.ts';
import { completeToken, releaseToken, reserveToken } from '../store/tokens.ts';
import type { MembersTelemetry } from '../telemetry/members.ts';
import type { RoleTasks } from './role-tasks.ts';

/**
 * Milliseconds after which the request that stored a link change has given up; from then on, a worker of any replica
 * may finish the change.
 */
const ABANDONED_MS = 10_000;
/** The maximum number of starts of a link change, which starts over if another change reserves the token first. */
const MAX_STARTS = 5;
/** Milliseconds for which an unlink request waits until the roles are removed that the link had given the member. */
const MAX_REVOKE_WAIT_MS = 3_000;
/** The number of unfinished link changes of an account that one query reads. An account seldom has more than one. */
const EARLIER_BATCH = 20;

type Kind = Change['kind'];
/** For each kind of link change, the function that converts the link to the data of the successful response. */
export type ChangeViews = Record<Kind, (link: Link) => object>;
/** What the lookup service returned for a link change: the created or removed link, or the error that rejected it. */
type Outcome = Link | ApiError;

export interface ChangesOptions<Views extends ChangeViews> {
  database: Database;
  idempotency: Idempotency;
  lookup: GrpcClient<typeof LookupServiceService>;
  clock: Clock;
  /** Returns a new UUID, which identifies a link change in calls to the lookup service. */
  newOperationId: () => string;
  roleTasks: RoleTasks;
  telemetry: MembersTelemetry;
  /** Return the responses, which are stored for repeated requests in the transaction that settles a change. */
  views: Views;
}

/**
 * Changes links. Links are stored in the lookup service; tokens and responses for idempotency keys are stored in this
 * service's database. First an intent (the plan of the change) is stored, then lookup is called with the intent's ID
 * until it responds, and then one transaction settles the intent, the token and the stored response.
 * deploy/decisions/0001-link-changes.md explains why every step is safe.
 */
export class LinkChanges<Views extends ChangeViews = ChangeViews> {
  readonly #options: ChangesOptions<Views>;
  /** The calls to the lookup service in flight, by operation ID. Concurrent requests for one change share one call. */
  readonly #running = new Map<string, Promise<Outcome>>();

  constructor(options: ChangesOptions<Views>) {
    this.#options = options;
  }

  /**
   * Makes a link change, or repeats the response of an earlier request with the same Idempotency-Key. `prepare` returns
   * the change, or throws if there is nothing to change; `prepare` is called again if another change reserved the token
   * first.
   */
  async perform<Of extends Kind>(
    write: IdempotentWrite,
    prepare: () => Promise<Change & { kind: Of }>,
  ): Promise<WriteOutcome<ReturnType<Views[Of]>>> {
    const { idempotency } = this.#options;
    const claim = await idempotency.claim(write);
    if (claim instanceof StoredResponse) return claim;
    try {
      return await this.#perform(write.guildId, claim, prepare);
    } catch (error) {
      // A repeat may continue immediately. This changes nothing if the claim was settled.
      if (isServerError(asApiError(error))) await idempotency.releaseOrRetry(claim).catch(() => undefined);
      throw error;
    }
  }

  async #perform<Of extends Kind>(
    guildId: string,
    claim: Claim | undefined,
    prepare: () => Promise<Change & { kind: Of }>,
  ): Promise<HandlerResult<ReturnType<Views[Of]>>> {
    const { database, idempotency } = this.#options;
    const unfinished = claim?.isRepeat ? await store.findIntent(database, guildId, claim.id) : undefined;
    if (unfinished) {
      const response = this.#responseTo(unfinished.kind as Of, await this.#finishFor(unfinished));
      await idempotency.settleOrRetry(claim, response);
      return orThrow(response);
    }
    for (let start = 0; start < MAX_STARTS; start++) {
      const { change, repeated } = await this.#prepare(guildId, claim, prepare);
      if (repeated) {
        const response = this.#responseTo(change.kind, repeated);
        await idempotency.settleOrRetry(claim, response);
        return orThrow(response);
      }
      const intent = await this.#begin(guildId, change, claim);
      if (intent) return orThrow(this.#responseTo(change.kind, await this.#finishFor(intent)));
    }
    throw new ApiError('UNAVAILABLE', { message: 'Too many concurrent requests use this token, try again soon' });
  }

  /**
   * Finishes a stored link change for a request. If that fails, marks the change as abandoned, so that a repeated
   * request can finish it immediately.
   */
  async #finishFor(intent: NewIntent): Promise<Outcome> {
    const { database } = this.#options;
    try {
      return await this.finish(intent);
    } catch (error) {
      // If marking the link change as abandoned fails too, a worker finishes the change after ABANDONED_MS.
      await store.abandonIntent(database, intent, asApiError(error).code).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Calls the lookup service and then settles the stored link change. Safe to repeat in any process. Throws if lookup
   * or the database fails.
   */
  finish(intent: NewIntent): Promise<Outcome> {
    const inFlight = this.#running.get(intent.operationId);
    if (inFlight) return inFlight;
    // The request that finishes a change may be another one than the one that stored it.
    const finished = withEventSource(storedSource(intent.source), () => this.#finish(intent));
    const started = finished.finally(() => this.#running.delete(intent.operationId));
    this.#running.set(intent.operationId, started);
    return started;
  }

  /**
   * Called when an operator has discarded a stored link change: releases its token and stores a CONFLICT as the
   * response to repeated requests.
   */
  async discard(transaction: Queryable, guildId: string, operationId: string): Promise<void> {
    const intent = await store.findIntent(transaction, guildId, operationId);
    if (!intent) return;
    if (intent.tokenId !== null) await releaseToken(transaction, guildId, intent.tokenId);
    const discarded = new ApiError('CONFLICT', { message: 'An operator has discarded this change' });
    await this.#options.idempotency.settle(transaction, intent.claim ?? undefined, discarded);
  }

  /**
   * Prepares a link change before any write. Every error here is the final response to the request and is stored under
   * its Idempotency-Key.
   */
  async #prepare<Of extends Kind>(
    guildId: string,
    claim: Claim | undefined,
    prepare: () => Promise<Change & { kind: Of }>,
  ): Promise<{ change: Change & { kind: Of }; repeated: Outcome | undefined }> {
    try {
      const change = await prepare();
      return { change, repeated: await this.#finishEarlier(guildId, change, claim) };
    } catch (error) {
      await this.#options.idempotency.settleOrRetry(claim, asApiError(error));
      throw error;
    }
  }

  /**
   * Finishes the unfinished link changes of both accounts first, because they could undo the new change later. If the
   * request of an identical earlier change gave up, or had the same Idempotency-Key, returns the outcome of that change as
   * the outcome of the new one.
   */
  async #finishEarlier(guildId: string, change: Change, claim: Claim | undefined): Promise<Outcome | undefined> {
    const { database } = this.#options;
    let repeated: Outcome | undefined;
    for (let found = EARLIER_BATCH; found === EARLIER_BATCH; ) {
      const open = await store.openIntents(database, guildId, change, EARLIER_BATCH);
      for (const earlier of open) {
        const outcome = await this.finish(earlier);
        const isOver = earlier.isAbandoned || earlier.operationId === claim?.id;
        if (isOver && isSameChange(earlier, change)) repeated ??= outcome;
      }
      found = open.length;
    }
    return repeated;
  }

  /**
   * Stores the intent (the plan of a link change) and reserves its token. Returns undefined if another change has
   * reserved the token. May throw although the commit succeeded.
   */
  #begin(guildId: string, change: Change, claim: Claim | undefined): Promise<NewIntent | undefined> {
    const { database, clock, newOperationId } = this.#options;
    const intent: NewIntent = {
      ...change,
      guildId,
      // The intent gets the ID of the idempotency claim, by which a repeated request finds the intent.
      operationId: claim?.id ?? newOperationId(),
      claim: claim ?? null,
      source: currentEventSource() ?? null,
    };
    return database.transaction(async (transaction) => {
      const { tokenId, operationId } = intent;
      const now = new Date(clock.now());
      if (tokenId !== null && !(await reserveToken(transaction, guildId, tokenId, operationId, now))) return undefined;
      if (await store.insertIntent(transaction, intent, ABANDONED_MS)) return intent;
      // The first request with this Idempotency-Key took longer than its claim's lease, and has stored the intent.
      return store.findIntent(transaction, guildId, operationId);
    });
  }

  async #finish(intent: NewIntent): Promise<Outcome> {
    const { telemetry } = this.#options;
    try {
      const outcome = await this.#callLookup(intent);
      await this.#settle(intent, outcome);
      return outcome;
    } catch (error) {
      telemetry.changeFailed(intent, error);
      throw error;
    }
  }

  /**
   * Creates or deletes the link in the lookup service. A repeated call with the same operation ID gets the same result.
   */
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
      return link ?? new ApiError('INTERNAL', { cause: new Error('lookup responded without a link') });
    } catch (thrown) {
      const error = asApiError(thrown);
      if (isServerError(error)) throw error;
      if (error.code === 'CONFLICT' || error.code === 'NOT_FOUND') return error;
      // The lookup service rejected the call permanently, so a retry would fail too.
      return new ApiError('INTERNAL', { cause: error });
    }
  }

  /** Stores the outcome of a link change. If several processes finish the same change, only one of them settles it. */
  async #settle(intent: NewIntent, outcome: Outcome): Promise<void> {
    const { database, idempotency, clock, roleTasks, telemetry } = this.#options;
    const { guildId, tokenId } = intent;
    const settled = await database.transaction(async (transaction) => {
      if (!(await store.finishIntent(transaction, intent))) return undefined;
      if (tokenId !== null) {
        if (outcome instanceof ApiError) await releaseToken(transaction, guildId, tokenId);
        else await completeToken(transaction, guildId, tokenId, outcome.gameId, new Date(clock.now()));
      }
      await idempotency.settle(transaction, intent.claim ?? undefined, this.#responseTo(intent.kind, outcome));
      if (outcome instanceof ApiError) return { roles: undefined };
      return { roles: await roleTasks.queue(transaction, { ...outcome, guildId }, intent.kind) };
    });
    if (!settled) return;
    if (outcome instanceof ApiError) telemetry.changeRejected(intent, outcome);
    else telemetry.changeDone(intent, outcome);
    if (settled.roles) await this.#followUp(intent.kind, settled.roles);
  }

  /** Starts a role synchronisation in the background after a link change. An unlink waits for the first attempt. */
  async #followUp(kind: Kind, task: RoleTask): Promise<void> {
    const { roleTasks } = this.#options;
    roleTasks.begin(task);
    if (kind === 'unlink') await roleTasks.attempted(task, MAX_REVOKE_WAIT_MS);
  }

  #responseTo<Of extends Kind>(kind: Of, outcome: Outcome): HandlerResult<ReturnType<Views[Of]>> | ApiError {
    if (outcome instanceof ApiError) return outcome;
    return ok(this.#options.views[kind](outcome) as ReturnType<Views[Of]>);
  }
}

function orThrow<Data>(response: HandlerResult<Data> | ApiError): HandlerResult<Data> {
  if (response instanceof ApiError) throw response;
  return response;
}

function accountOf({ chatId, gameId }: Change) {
  return chatId === null
    ? { $case: 'gameId' as const, value: gameId ?? 0 }
    : { $case: 'chatId' as const, value: chatId };
}
