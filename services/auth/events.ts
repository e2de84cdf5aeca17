import type { Logger } from '#kit/log.ts';
import type { Metrics } from '#kit/metrics.ts';
import { formatKeyId, type KeyRef } from './key.ts';

export type KeyAction = 'create' | 'update' | 'rotate' | 'revoke';

/** What auth counts and logs of its business: never a secret, never a hash. */
export class AuthEvents {
  readonly #log: Logger;
  readonly #changed;
  readonly #refused;
  readonly #verified;
  readonly #watchers;

  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    this.#changed = metrics.counter('auth_keys_changed_total', 'Keys made and changed', ['action']);
    this.#refused = metrics.counter('auth_keys_over_limit_total', 'Keys refused because the guild has its ten');
    this.#verified = metrics.counter('auth_keys_verified_total', 'Secrets looked up', ['result']);
    this.#watchers = metrics.gauge('auth_watchers', 'Streams that are told changes of keys');
  }

  keysChanged(action: KeyAction, actor: string, keys: readonly KeyRef[]): void {
    this.#changed.inc({ action }, keys.length);
    this.#log.info({ action, actor, keys: keys.map(formatKeyId) }, 'keys were changed');
  }

  erasureRecorded(guildId: string, action: string, state: string, actor: string): void {
    this.#log.info({ guild_id: guildId, action, state, actor }, 'an erasure was noted');
  }

  keyRefusedOverLimit(guildId: string, actor: string): void {
    this.#refused.inc();
    this.#log.info({ guild_id: guildId, actor }, 'a key was refused: the guild has as many as it may');
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
