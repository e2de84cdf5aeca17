import { randomUUID } from 'node:crypto';
import { ApiError, quotaExceeded } from '#kit/errors.ts';
import { currentEventSource, publicSource } from '#kit/events/source.ts';
import { type HandlerResult, ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { QuotaUse } from '#kit/usage/quota-use.ts';
import { MAX_WEBHOOKS } from '#proto/rest/webhooks.ts';
import type { DeliveryResult } from '../delivery/sender.ts';
import type { DeliveryPosition } from '../store/deliveries.ts';
import * as deliveries from '../store/deliveries.ts';
import * as store from '../store/endpoints.ts';
import { lockLog } from '../store/log.ts';
import type { WebhookTelemetry } from '../telemetry/webhooks.ts';
import type { Delivery, Endpoint, EndpointSecrets } from './endpoint.ts';
import type { EventLog } from './log.ts';
import { type LogEvent, ownEvent } from './log-event.ts';
import { encryptSecret, newestKey } from './secrets.ts';
import { auditView, type WebhookAction } from './webhook-audit.ts';
import { checkNotRevoked, checkTypes, type Owner } from './webhook-owner.ts';
import { notFound, type WebhookState } from './webhook-state.ts';

/** The timeout of a test event in milliseconds, so that the request gets its response within seven seconds. */
const TEST_TIMEOUT_MS = 6_000;
const DEFAULT_GRACE_SECONDS = 24 * 3600;

export interface NewWebhook {
  url: string;
  types: readonly string[];
  description: string | null;
  format: Endpoint['format'];
  /** The seq of the first event to send; the next one if undefined. */
  from: number | undefined;
}

/** The fields to change. */
export interface WebhookChange {
  url?: string | undefined;
  types?: readonly string[] | undefined;
  /** null removes it. */
  description?: string | null | undefined;
  enabled?: boolean | undefined;
  from?: number | undefined;
}

export interface WebhooksOptions {
  database: Database;
  idempotency: Idempotency;
  ring: KeyRing;
  state: WebhookState;
  telemetry: WebhookTelemetry;
  newSecret: () => string;
  /** Returns the form of a valid URL in which it is stored. */
  normalisedUrl: (url: string) => string;
  send: (recipient: Endpoint & EndpointSecrets, event: LogEvent, timeoutMs: number) => Promise<DeliveryResult>;
  now: () => number;
  log: EventLog;
}

/** Creates, changes and deletes the webhooks of guilds for requests. */
export class Webhooks {
  readonly #options: WebhooksOptions;

  constructor(options: WebhooksOptions) {
    this.#options = options;
  }

  list(guildId: string): Promise<Endpoint[]> {
    return store.listEndpoints(this.#options.database, guildId);
  }

  /** Throws NOT_FOUND if the guild has no such webhook. */
  async get(guildId: string, id: string): Promise<Endpoint> {
    return (await store.findEndpoint(this.#options.database, guildId, id)) ?? notFound();
  }

  /** Returns how many webhooks a guild has, and how many it may have. */
  async quota(guildId: string): Promise<QuotaUse> {
    const used = await store.countGuildEndpoints(this.#options.database, guildId);
    return { quota: 'webhooks', limit: MAX_WEBHOOKS, used };
  }

  /** Returns the attempts of a webhook, the newest first. Throws NOT_FOUND if the guild has no such webhook. */
  async deliveries(
    guildId: string,
    id: string,
    page: { after: DeliveryPosition | undefined; limit: number },
  ): Promise<Delivery[]> {
    const { database } = this.#options;
    const found = await deliveries.listDeliveries(database, guildId, id, page);
    if (found.length === 0) await this.get(guildId, id);
    return found;
  }

  /**
   * Creates a webhook that reads with the scopes of a key. Throws QUOTA_EXCEEDED if the guild has the maximum number of
   * webhooks, MISSING_SCOPE if the key may not read a type, and EVENTS_GONE if `from` is not in the log.
   */
  async create<View>(
    write: IdempotentWrite,
    owner: Owner,
    wanted: NewWebhook,
    view: (endpoint: Endpoint, secret: string) => View,
  ): Promise<WriteOutcome<View>> {
    const { state, ring, newSecret, normalisedUrl } = this.#options;
    checkTypes(wanted.types, owner);
    const { guildId } = write;
    const { from, ...settings } = wanted;
    const secret = newSecret();
    return this.#write('created', write, owner, async (transaction) => {
      const newestSeq = await lockLog(transaction, guildId);
      await checkNotRevoked(transaction, guildId, owner);
      const cursorSeq =
        from === undefined ? newestSeq : (await state.cursorBefore(transaction, guildId, from)).cursorSeq;
      const { keyId, scopes } = owner;
      const inserted = await store.insertEndpoint(
        transaction,
        {
          ...settings,
          url: normalisedUrl(settings.url),
          guildId,
          keyId,
          scopes,
          cursorSeq,
          secret: encryptSecret(ring, secret),
          secretKey: newestKey(ring),
        },
        { newestSeq, max: MAX_WEBHOOKS },
      );
      if (!inserted) {
        throw quotaExceeded('webhooks', MAX_WEBHOOKS, `The guild has ${MAX_WEBHOOKS} webhooks, which is the maximum`);
      }
      if (cursorSeq < newestSeq) state.wakeAfter(transaction, guildId);
      const endpoint = await state.withPresentScopes(transaction, { endpoint: inserted, newestSeq });
      return { endpoint, data: view(endpoint, secret) };
    });
  }

  /**
   * Changes a webhook. A key that changes the URL or the types, or enables the webhook, becomes its owner: otherwise it
   * could receive events that it may not read. Throws the errors of `create` and NOT_FOUND.
   */
  async update<View>(
    write: IdempotentWrite,
    id: string,
    owner: Owner,
    change: WebhookChange,
    view: (endpoint: Endpoint) => View,
  ): Promise<WriteOutcome<View>> {
    return this.#write('updated', write, owner, async (transaction) => {
      const locked = await this.#options.state.lock(transaction, write.guildId, id);
      const endpoint = await this.#change(transaction, locked, owner, change);
      return { endpoint, before: locked.endpoint, data: view(endpoint) };
    });
  }

  /** Deletes a webhook. Throws NOT_FOUND if the guild has no such webhook. */
  async remove(write: IdempotentWrite, id: string, owner: Owner): Promise<WriteOutcome<{ removed: true; id: string }>> {
    return this.#write('deleted', write, owner, async (transaction) => {
      const endpoint = (await store.lockEndpoint(transaction, write.guildId, id)) ?? notFound();
      await deliveries.deleteAllDeliveries(transaction, endpoint);
      await store.deleteEndpoint(transaction, write.guildId, id);
      return { endpoint, data: { removed: true as const, id } };
    });
  }

  /** Replaces the secret of a webhook; the replaced one signs too for `graceSeconds`. Throws NOT_FOUND. */
  async rotate<View>(
    write: IdempotentWrite,
    id: string,
    { owner, graceSeconds = DEFAULT_GRACE_SECONDS }: { owner: Owner; graceSeconds: number | undefined },
    view: (rotated: { id: string; secret: string; previousUntil: Date }) => View,
  ): Promise<WriteOutcome<View>> {
    const { ring, newSecret } = this.#options;
    return this.#write('rotated', write, owner, async (transaction) => {
      const endpoint = (await store.lockEndpoint(transaction, write.guildId, id)) ?? notFound();
      const secret = newSecret();
      const encrypted = encryptSecret(ring, secret);
      const previousUntil = (await store.rotateSecret(transaction, endpoint, encrypted, graceSeconds)) ?? notFound();
      return { endpoint, data: view({ id, secret, previousUntil }) };
    });
  }

  /** Sends events again, from a seq or single ones. Throws the errors of WebhookState.replayFrom and replayEvents. */
  async replay<View>(
    write: IdempotentWrite,
    id: string,
    { owner, from, eventIds }: { owner: Owner; from: number | undefined; eventIds: readonly string[] },
    view: (endpoint: Endpoint) => View,
  ): Promise<WriteOutcome<View>> {
    const { state } = this.#options;
    return this.#write('replayed', write, owner, async (transaction) => {
      const locked = await state.lock(transaction, write.guildId, id);
      const endpoint =
        from === undefined
          ? await state.replayEvents(transaction, locked, eventIds)
          : await state.replayFrom(transaction, locked, from);
      return { endpoint, before: locked.endpoint, data: view(endpoint) };
    });
  }

  /** Sends a test event immediately, and returns the response. Throws NOT_FOUND, and UNAVAILABLE if nothing was sent. */
  async test<View>(
    write: IdempotentWrite,
    id: string,
    owner: Owner,
    view: (result: DeliveryResult) => View,
  ): Promise<WriteOutcome<View>> {
    const { database, idempotency, send, now } = this.#options;
    const { guildId } = write;
    const attempt = async () => {
      const endpoint = await this.get(guildId, id);
      const secrets = (await store.findSecrets(database, guildId, id)) ?? notFound();
      const event: LogEvent = {
        guildId,
        id: randomUUID(),
        seq: 0,
        type: 'webhook.test',
        createdAt: new Date(now()),
        source: publicSource(currentEventSource() ?? { kind: 'api_key', id: owner.keyPrefix }),
        data: { webhook_id: id },
      };
      const result = await send({ ...endpoint, ...secrets }, event, TEST_TIMEOUT_MS);
      if (result.isOurFault) throw new ApiError('UNAVAILABLE', { cause: new Error(result.error ?? 'not sent') });
      return result;
    };
    return idempotency.afterPreparing(write, attempt, async (_transaction, result) => ok(view(result)));
  }

  async #change(
    transaction: Transaction,
    locked: { endpoint: Endpoint; newestSeq: number },
    owner: Owner,
    { url, types, description, enabled, from }: WebhookChange,
  ): Promise<Endpoint> {
    const { state, normalisedUrl } = this.#options;
    const { endpoint, newestSeq } = locked;
    const isOwner = url !== undefined || types !== undefined || enabled === true;
    if (isOwner) {
      checkTypes(types ?? endpoint.types, owner);
      await checkNotRevoked(transaction, endpoint.guildId, owner);
    }
    const settings = {
      url: url === undefined ? endpoint.url : normalisedUrl(url),
      types: types ?? endpoint.types,
      description: description === undefined ? endpoint.description : description,
      keyId: isOwner ? owner.keyId : endpoint.keyId,
      scopes: isOwner ? owner.scopes : endpoint.scopes,
    };
    const updated = (await store.updateSettings(transaction, endpoint, settings, newestSeq)) ?? notFound();
    state.wakeAfter(transaction, endpoint.guildId);
    if (enabled === false) return state.disable(transaction, updated, 'requested');
    const changed = enabled ? await state.enable(transaction, { endpoint: updated, newestSeq }, from) : updated;
    return isOwner ? state.withPresentScopes(transaction, { endpoint: changed, newestSeq }) : changed;
  }

  /** Runs a change and stores its response in one transaction; counts and logs it unless the response was stored before. */
  async #write<Data>(
    change: WebhookAction,
    write: IdempotentWrite,
    owner: Owner,
    work: (transaction: Transaction) => Promise<{ endpoint: Endpoint; before?: Endpoint; data: Data }>,
  ): Promise<WriteOutcome<Data>> {
    const { idempotency, telemetry, log } = this.#options;
    let changed: Endpoint | undefined;
    const outcome = await idempotency.inTransaction(write, async (transaction): Promise<HandlerResult<Data>> => {
      const { endpoint, before, data } = await work(transaction);
      changed = endpoint;
      const entry = ownEvent(`webhook.${change}`, auditView(endpoint), { before: before && auditView(before) });
      await log.audit(transaction, 'events', [{ ...entry, guildId: write.guildId }]);
      return ok(data);
    });
    if (changed) telemetry.changed(change, changed, owner.keyId);
    return outcome;
  }
}
