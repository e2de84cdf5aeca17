import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { formatKeyId, type KeyRef } from './domain/key.ts';

export type KeyAction = 'create' | 'update' | 'rotate' | 'revoke' | 'suspend' | 'resume';

/** What auth counts and logs of its business: never a secret, never a hash. */
export class AuthEvents {
  readonly #log: Logger;
  readonly #changed;
  readonly #refused;
  readonly #verified;
  readonly #watchers;
  readonly #operators;
  readonly #audit;

  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    this.#changed = metrics.counter('auth_keys_changed_total', 'Keys created and changed', ['action']);
    this.#refused = metrics.counter('auth_keys_over_limit_total', 'Keys refused because the guild has its ten');
    this.#verified = metrics.counter('auth_keys_verified_total', 'Secrets looked up', ['result']);
    this.#operators = metrics.counterOf(
      'auth_operator_calls_total',
      'Calls of operators to other services that change something and were authorised, and calls that their role refused',
      'result',
      ['authorised', 'refused'],
    );
    this.#audit = metrics.counterOf(
      'auth_audit_chains_total',
      'Audit chains that the hourly check signed or found broken',
      'result',
      ['signed', 'broken'],
    );
    this.#watchers = metrics.gauge('auth_watchers', 'Streams that are told changes of keys');
  }

  keysChanged(action: KeyAction, keys: readonly KeyRef[]): void {
    this.#changed.inc({ action }, keys.length);
    this.#log.info({ action, keys: keys.map(formatKeyId) }, 'keys changed');
  }

  erasureRecorded(guildId: string, action: string, state: string): void {
    this.#log.info({ guild_id: guildId, action, state }, 'erasure recorded');
  }

  keyRefusedOverLimit(guildId: string): void {
    this.#refused.inc();
    this.#log.info({ guild_id: guildId }, 'a key was refused: the guild has as many as it may');
  }

  guildChanged(guildId: string, action: 'suspend' | 'resume', keys: number): void {
    this.#changed.inc({ action }, keys);
    this.#log.info({ guild_id: guildId, action, keys }, 'guild suspended or resumed');
  }

  operatorChanged(name: string, change: 'added' | 'revoked', role: string): void {
    this.#log.info({ operator_name: name, role, change }, 'operator changed');
  }

  changeAuthorised(operator: string, method: string, guildId: string): void {
    this.#operators.inc({ result: 'authorised' });
    this.#log.info({ operator, method, guild_id: guildId }, 'operator change authorised');
  }

  operatorRefused(operator: string, method: string): void {
    this.#operators.inc({ result: 'refused' });
    this.#log.warn({ operator, method }, 'operator call refused: the role does not include it');
  }

  auditSigned(guildId: string, sequence: number, chain: string): void {
    this.#audit.inc({ result: 'signed' });
    this.#log.info({ guild_id: guildId, sequence, chain }, 'audit checkpoint signed');
  }

  auditPruned(guildId: string, sequence: number, rows: number): void {
    this.#log.info({ guild_id: guildId, sequence, rows }, 'audit entries pruned up to a checkpoint');
  }

  auditBroken(guildId: string, sequence: number, reason: string): void {
    this.#audit.inc({ result: 'broken' });
    this.#log.error({ guild_id: guildId, sequence, reason }, 'audit chain is broken');
  }

  auditNotKept(error: unknown): void {
    this.#log.warn({ err: error }, 'audit checkpoints could not be made, will retry in an hour');
  }

  secretsVerified(known: number, unknown: number): void {
    this.#verified.inc({ result: 'known' }, known);
    this.#verified.inc({ result: 'unknown' }, unknown);
  }

  watcherCame(count: number): void {
    this.#watchers.set(count);
    this.#log.info({ watchers: count }, 'a watcher of keys came');
  }

  watcherWent(count: number): void {
    this.#watchers.set(count);
    this.#log.info({ watchers: count }, 'a watcher of keys went');
  }

  watcherWasTooSlow(): void {
    this.#log.warn('a watcher of keys took what it was told too slowly and was cut off');
  }

  changesUnreadable(error: unknown): void {
    this.#log.warn({ err: error }, 'the latest changes of keys could not be read; no beats until they are');
  }
}
