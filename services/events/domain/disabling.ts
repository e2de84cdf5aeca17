import type { Database, Transaction } from '#kit/postgres/pool.ts';
import type { DisabledReason } from '#proto/rest/webhooks/schemas.ts';
import * as store from '../store/endpoints.ts';
import { lockLog } from '../store/log.ts';
import { findFailing } from '../store/parked.ts';
import { recordOnly } from '../store/turns.ts';
import type { WebhookTelemetry } from '../telemetry/webhooks.ts';
import type { Attempted } from './deliveries/attempts.ts';
import { MAX_FAILING_SECONDS } from './deliveries/schedule.ts';
import type { Endpoint } from './endpoint.ts';
import type { EventLog } from './log.ts';
import { ownEvent } from './log-event.ts';

/** The maximum number of failing endpoints that one sweep disables. */
const BATCH = 100;

export interface DisablingOptions {
  database: Database;
  log: Pick<EventLog, 'appendOwn'>;
  telemetry: WebhookTelemetry;
  /** Returns the endpoint as events and responses show it. */
  view: (endpoint: Endpoint) => object;
}

/** Disables endpoints, each with its event in the same transaction. */
export class Disabling {
  readonly #options: DisablingOptions;

  constructor(options: DisablingOptions) {
    this.#options = options;
  }

  /**
   * Disables an endpoint in a transaction that has locked the guild's log. Returns undefined if it was disabled before,
   * does not exist, or has another URL than the expected one.
   */
  async disable(
    transaction: Transaction,
    endpoint: Pick<Endpoint, 'guildId' | 'id'> & { url?: string },
    reason: DisabledReason,
  ): Promise<Endpoint | undefined> {
    const disabled = await store.disableEndpoint(transaction, endpoint, reason);
    if (disabled) await this.report(transaction, [disabled]);
    return disabled;
  }

  /** Stores the events of endpoints that were disabled in this transaction. */
  async report(transaction: Transaction, disabled: readonly Endpoint[]): Promise<void> {
    const [first] = disabled;
    if (!first) return;
    const { log, telemetry, view } = this.#options;
    await log.appendOwn(
      transaction,
      first.guildId,
      disabled.map((endpoint) => ownEvent('webhook.disabled', view(endpoint))),
    );
    transaction.afterCommit(() => disabled.forEach((endpoint) => telemetry.disabled(endpoint)));
  }

  /** Disables an endpoint whose receiver responded with 410, unless its URL was changed meanwhile; stores the attempt. */
  disableGone = async (endpoint: Pick<Endpoint, 'guildId' | 'id' | 'url'>, attempt: Attempted): Promise<void> => {
    await this.#options.database.transaction(async (transaction) => {
      await lockLog(transaction, endpoint.guildId);
      await recordOnly(transaction, endpoint, attempt);
      await this.disable(transaction, endpoint, 'gone');
    });
  };

  /** Disables the endpoints that have been failing for five days. */
  async disableFailing(): Promise<void> {
    const { database } = this.#options;
    for (const { guildId, id } of await findFailing(database, MAX_FAILING_SECONDS, BATCH)) {
      await database.transaction(async (transaction) => {
        await lockLog(transaction, guildId);
        // An attempt may have succeeded since.
        const isFailing = await store.lockFailing(transaction, { guildId, id }, MAX_FAILING_SECONDS);
        if (isFailing) await this.disable(transaction, { guildId, id }, 'failing');
      });
    }
  }
}
