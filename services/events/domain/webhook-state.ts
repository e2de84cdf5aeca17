import { ApiError } from '#kit/errors.ts';
import type { Queryable, Transaction } from '#kit/postgres/pool.ts';
import type { DisabledReason } from '#proto/rest/webhooks/schemas.ts';
import * as store from '../store/endpoints.ts';
import { findChangedScopes } from '../store/key-scopes.ts';
import { lockLog, readEvents, readEventsById } from '../store/log.ts';
import { parkNow } from '../store/parked.ts';
import type { Disabling } from './disabling.ts';
import { type Endpoint, MAX_PARKED } from './endpoint.ts';
import { visibleTypes } from './visible-types.ts';

export interface WebhookStateOptions {
  disabling: Disabling;
  /** Called after a commit with which an endpoint became due. */
  wake: (guildId: string) => void;
}

/** An endpoint that the transaction has locked together with the log of its guild. */
export interface LockedEndpoint {
  endpoint: Endpoint;
  newestSeq: number;
}

/** Enables and disables endpoints and moves their cursors, in transactions of requests and operators. */
export class WebhookState {
  readonly #options: WebhookStateOptions;

  constructor(options: WebhookStateOptions) {
    this.#options = options;
  }

  /** Locks the log of a guild and an endpoint, in this order. Throws NOT_FOUND if the guild has no such endpoint. */
  async lock(transaction: Transaction, guildId: string, id: string): Promise<LockedEndpoint> {
    const newestSeq = await lockLog(transaction, guildId);
    return { newestSeq, endpoint: (await store.lockEndpoint(transaction, guildId, id)) ?? notFound() };
  }

  /** Disables an endpoint, unless it is disabled already. */
  async disable(transaction: Transaction, endpoint: Endpoint, reason: DisabledReason): Promise<Endpoint> {
    return (await this.#options.disabling.disable(transaction, endpoint, reason)) ?? endpoint;
  }

  /**
   * Enables an endpoint. It continues after its cursor, or with the seq `from`. Throws EVENTS_GONE if `from` is not in
   * the log.
   */
  async enable(
    transaction: Transaction,
    { endpoint, newestSeq }: LockedEndpoint,
    from: number | undefined,
  ): Promise<Endpoint> {
    const enabled = endpoint.enabled ? endpoint : await store.enableEndpoint(transaction, endpoint, newestSeq);
    this.wakeAfter(transaction, endpoint.guildId);
    if (from === undefined) return enabled ?? notFound();
    return this.#move(transaction, endpoint, from);
  }

  /**
   * Gives an endpoint the scopes that its key has now: a request may have been admitted before its key lost scopes, and get
   * here after the event about it. Returns the endpoint as it is then.
   */
  async withPresentScopes(transaction: Transaction, { endpoint, newestSeq }: LockedEndpoint): Promise<Endpoint> {
    const changed = await findChangedScopes(transaction, endpoint, newestSeq);
    if (!changed) return endpoint;
    const { scopes } = changed;
    await store.setScopesOfKey(transaction, endpoint.guildId, { keyId: endpoint.keyId, scopes });
    return { ...endpoint, scopes };
  }

  /** Sends all events from a seq again. Throws CONFLICT if the endpoint is disabled, and EVENTS_GONE like `enable`. */
  async replayFrom(transaction: Transaction, { endpoint }: LockedEndpoint, from: number): Promise<Endpoint> {
    if (!endpoint.enabled) throw isDisabled();
    this.wakeAfter(transaction, endpoint.guildId);
    return this.#move(transaction, endpoint, from);
  }

  /**
   * Sends single events once more. Throws CONFLICT if the endpoint is disabled or has too many parked events, and
   * NOT_FOUND if the log has not all of these events, or the endpoint may not read one of them.
   */
  async replayEvents(
    transaction: Transaction,
    { endpoint }: LockedEndpoint,
    eventIds: readonly string[],
  ): Promise<Endpoint> {
    if (!endpoint.enabled) throw isDisabled();
    const readable = new Set<string>(visibleTypes(endpoint.scopes));
    const events = await readEventsById(transaction, endpoint.guildId, eventIds);
    const found = events.filter(({ type }) => readable.has(type));
    if (found.length < new Set(eventIds).size) {
      throw new ApiError('NOT_FOUND', { message: 'The log has not all of these events' });
    }
    if (endpoint.parked >= MAX_PARKED) {
      throw new ApiError('CONFLICT', { message: `The webhook has ${MAX_PARKED} failed events that wait for a retry` });
    }
    await parkNow(transaction, endpoint, found);
    return endpoint;
  }

  /** Returns the cursor at which `from` is the next event. Throws EVENTS_GONE if it is not in the log. */
  async cursorBefore(on: Queryable, guildId: string, from: number): Promise<{ cursorSeq: number; newestSeq: number }> {
    const { oldestSeq, newestSeq } = await readEvents(on, { guildId, after: null, types: [], limit: 1, maxBytes: 1 });
    if (from < oldestSeq || from > newestSeq + 1) {
      throw new ApiError('EVENTS_GONE', { details: { oldest_seq: oldestSeq, newest_seq: newestSeq } });
    }
    return { cursorSeq: from - 1, newestSeq };
  }

  async #move(transaction: Transaction, endpoint: Endpoint, from: number): Promise<Endpoint> {
    const { newestSeq } = await this.cursorBefore(transaction, endpoint.guildId, from);
    return (await store.moveCursor(transaction, endpoint, { from, newestSeq })) ?? notFound();
  }

  /** Wakes the deliveries of a guild after the commit. */
  wakeAfter(transaction: Transaction, guildId: string): void {
    transaction.afterCommit(() => this.#options.wake(guildId));
  }
}

export function notFound(): never {
  throw new ApiError('NOT_FOUND', { message: 'The guild has no such webhook' });
}

const isDisabled = () => new ApiError('CONFLICT', { message: 'The webhook is disabled: enable it first' });
