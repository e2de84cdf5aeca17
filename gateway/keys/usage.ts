import { type Clock, unixSeconds } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { evictOldest } from '#kit/resilience/bounded.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { AuthServiceService, KeyGrant, KeyUse } from '#proto/gen/guild/auth/v1/auth.ts';
import { isWithin } from './proof.ts';

const RECORD_INTERVAL_MS = 60_000;
const SEND_INTERVAL_MS = 1_000;
const BATCH_SIZE = 500;

export interface KeyUsageOptions {
  client: GrpcClient<AuthServiceService>;
  clock: Clock;
  log: Logger;
  /** The maximum number of API keys whose usage is recorded within a minute. */
  max: number;
}

/**
 * Reports to the auth service when API keys were last used: in batches, at most once a minute per key, with retries.
 */
export class KeyUsage implements Part {
  readonly name = 'key usage';
  readonly #options: KeyUsageOptions;
  /** When the usage of each API key was last recorded, oldest first. */
  readonly #recordedAt = new Map<string, number>();
  #unsent = new Map<string, KeyUse>();
  #sending: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: KeyUsageOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.send(), SEND_INTERVAL_MS).unref();
  }

  async drain(): Promise<void> {
    await this.send();
  }

  /** Reports the API keys used by requests that were still in flight when the drain began. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.send();
  }

  /** Records that the API key is used now. Does nothing if its usage was recorded within the last minute. */
  record(grant: KeyGrant): void {
    const now = this.#options.clock.now();
    const recordedAt = this.#recordedAt.get(grant.keyId);
    if (recordedAt !== undefined && isWithin(now - recordedAt, RECORD_INTERVAL_MS)) return;
    if (recordedAt === undefined && this.#recordedAt.size >= this.#options.max) return;
    this.#recordedAt.delete(grant.keyId);
    this.#recordedAt.set(grant.keyId, now);
    this.#unsent.set(grant.keyId, { guildId: grant.guildId, keyId: grant.keyId, usedAt: unixSeconds(now) });
  }

  /** Sends the recorded key usage to the auth service, after any send that is still in progress. */
  send(): Promise<void> {
    this.#sending = this.#sending.then(() => this.#send());
    return this.#sending;
  }

  async #send(): Promise<void> {
    this.#dropExpired();
    let uses = [...this.#unsent.values()];
    this.#unsent.clear();
    try {
      for (; uses.length > 0; uses = uses.slice(BATCH_SIZE)) {
        await this.#options.client.recordUse({ uses: uses.slice(0, BATCH_SIZE) });
      }
    } catch (error) {
      this.#options.log.debug({ err: error }, 'failed to report key usage, will retry');
      this.#requeue(uses);
    }
  }

  /** Queues the key usage of a failed send for the next send. Newer usage of the same API keys takes precedence. */
  #requeue(uses: readonly KeyUse[]): void {
    this.#unsent = new Map([...uses.map((use) => [use.keyId, use] as const), ...this.#unsent]);
    evictOldest(this.#unsent, this.#options.max);
  }

  /** Removes API keys that were recorded over a minute ago, so that their next usage is recorded again. */
  #dropExpired(): void {
    const now = this.#options.clock.now();
    for (const [keyId, recordedAt] of this.#recordedAt) {
      if (isWithin(now - recordedAt, RECORD_INTERVAL_MS)) return;
      this.#recordedAt.delete(keyId);
    }
  }
}
