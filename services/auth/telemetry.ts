import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { formatKeyId, type KeyRef } from './domain/key.ts';

export type KeyAction = 'create' | 'update' | 'rotate' | 'revoke' | 'suspend' | 'resume';

/** Metrics and log lines of the auth service, none of which contain a secret or a hash. */
export class AuthTelemetry {
  readonly #log: Logger;
  readonly #changed;
  readonly #overLimit;
  readonly #verified;
  readonly #watchers;
  readonly #operatorCalls;
  readonly #auditChains;
  readonly #auditFed;
  readonly #reports;
  readonly #requests;

  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    this.#changed = metrics.counter(
      'auth_keys_changed_total',
      'API keys created, updated, rotated, revoked, suspended or resumed by operators',
      ['action'],
    );
    this.#overLimit = metrics.counter(
      'auth_keys_over_limit_total',
      'API key creations and updates that were rejected because the guild already has ten active keys',
    );
    this.#verified = metrics.counter(
      'auth_keys_verified_total',
      'API key hashes that gateways sent for verification, by whether the auth service knows the key (known, unknown, or unavailable if it could not be read)',
      ['result'],
    );
    this.#operatorCalls = metrics.counterOf(
      'auth_operator_calls_total',
      'Operator calls that change data of another service and were authorised, and operator calls rejected because of the role',
      'result',
      ['authorised', 'rejected'],
    );
    this.#auditChains = metrics.counterOf(
      'auth_audit_chains_total',
      'Audit chains of guilds that the hourly verification signed or found broken',
      'result',
      ['signed', 'broken'],
    );
    this.#auditFed = metrics.counter(
      'auth_audit_entries_fed_total',
      'Changes by API keys and persons that were written into the audit',
    );
    this.#reports = metrics.counterOf(
      'auth_request_reports_total',
      'Reports of counted requests by gateways; a repeated report was added before and is ignored',
      'result',
      ['added', 'repeated'],
    );
    this.#requests = metrics.counterOf(
      'auth_requests_reported_total',
      'Requests of guilds in the reports of gateways that were added, by whether the gateway allowed them',
      'result',
      ['allowed', 'rejected'],
    );
    this.#watchers = metrics.gauge(
      'auth_watchers',
      'Open Watch streams, over which gateways receive changes of API keys',
    );
  }

  keysChanged(action: KeyAction, keys: readonly KeyRef[]): void {
    this.#changed.inc({ action }, keys.length);
    this.#log.info({ action, keys: keys.map(formatKeyId) }, 'API keys changed');
  }

  keysExpiring(keys: readonly KeyRef[]): void {
    this.#log.info({ keys: keys.map(formatKeyId) }, 'API keys expire within seven days');
  }

  erasureRecorded(guildId: string, action: string, state: string): void {
    this.#log.info({ guild_id: guildId, action, state }, 'erasure of a guild or user recorded in the audit');
  }

  keyRejectedOverLimit(guildId: string): void {
    this.#overLimit.inc();
    this.#log.info({ guild_id: guildId }, 'API key not created: the guild has the maximum number of active keys');
  }

  guildChanged(guildId: string, action: 'suspend' | 'resume', keys: number): void {
    this.#changed.inc({ action }, keys);
    this.#log.info({ guild_id: guildId, action, keys }, `guild ${action === 'suspend' ? 'suspended' : 'resumed'}`);
  }

  operatorChanged(name: string, change: 'added' | 'revoked', role: string): void {
    this.#log.info({ operator_name: name, role, change }, `operator ${change}`);
  }

  changeAuthorised(operator: string, method: string, guildId: string): void {
    this.#operatorCalls.inc({ result: 'authorised' });
    this.#log.info({ operator, method, guild_id: guildId }, 'operator authorised to change data of another service');
  }

  operatorRejected(operator: string, method: string): void {
    this.#operatorCalls.inc({ result: 'rejected' });
    this.#log.warn({ operator, method }, 'operator call rejected: the role does not include this method');
  }

  auditSigned(guildId: string, sequence: number, chain: string): void {
    this.#auditChains.inc({ result: 'signed' });
    this.#log.info({ guild_id: guildId, sequence, chain }, 'audit checkpoint signed');
  }

  auditPruned(guildId: string, sequence: number, rows: number): void {
    this.#log.info({ guild_id: guildId, sequence, rows }, 'audit entries pruned up to a checkpoint');
  }

  auditBroken(guildId: string, sequence: number, reason: string): void {
    this.#auditChains.inc({ result: 'broken' });
    this.#log.error({ guild_id: guildId, sequence, reason }, 'audit chain is broken');
  }

  auditFed(entries: number): void {
    this.#auditFed.inc(entries);
  }

  auditFeedFailed(error: unknown, guildId?: string): void {
    const guild = guildId === undefined ? {} : { guild_id: guildId };
    this.#log.warn({ err: error, ...guild }, 'failed to write changes by keys and persons into the audit, will retry');
  }

  auditEntryUnstorable(guildId: string, id: string, error: unknown): void {
    const fields = { err: error, guild_id: guildId, entry_id: id };
    this.#log.error(fields, 'audit entry stored without its details, because they cannot be stored');
  }

  auditRunFailed(error: unknown): void {
    this.#log.warn({ err: error }, 'failed to sign or prune the audit, will retry in an hour');
  }

  /** Counts the secrets of one call. `unavailable` are those that could not be read. */
  secretsVerified(counts: Record<'known' | 'unknown' | 'unavailable', number>): void {
    for (const [result, count] of Object.entries(counts)) this.#verified.inc({ result }, count);
  }

  requestsReported(isNew: boolean, counts: readonly { allowed: number; rejected: number }[]): void {
    this.#reports.inc({ result: isNew ? 'added' : 'repeated' });
    if (!isNew) return;
    for (const { allowed, rejected } of counts) {
      this.#requests.inc({ result: 'allowed' }, allowed);
      this.#requests.inc({ result: 'rejected' }, rejected);
    }
  }

  watcherConnected(count: number): void {
    this.#watchers.set(count);
    this.#log.info({ watchers: count }, 'gateway connected to the stream of key changes');
  }

  watcherDisconnected(count: number): void {
    this.#watchers.set(count);
    this.#log.info({ watchers: count }, 'gateway disconnected from the stream of key changes');
  }

  watcherTooSlow(): void {
    this.#log.warn('gateway disconnected: it received key changes too slowly');
  }

  statePartUnreadable(service: string, guildId: string, error: unknown): void {
    const fields = { dependency: service, guild_id: guildId, err: error };
    this.#log.warn(fields, 'failed to read the state of a guild from a service, the response names the service');
  }

  recentChangesUnreadable(error: unknown): void {
    this.#log.warn({ err: error }, 'failed to read recent key changes, gateways get no heartbeats until this succeeds');
  }
}
