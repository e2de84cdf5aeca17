import { type Clock, unixSeconds } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { dropOldest } from '#kit/resilience/bounded.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { AuthServiceService, KeyGrant, KeyUse } from '#proto/gen/guild/auth/v1/auth.ts';
import { isWithin } from './proof.ts';

const ONCE_EVERY_MS = 60_000;
const SEND_EVERY_MS = 1_000;
const BATCH = 500;

export interface KeyUsageOptions {
  client: GrpcClient<AuthServiceService>;
  clock: Clock;
  log: Logger;
  /** The most keys whose use is recorded within a minute. */
  max: number;
}

/** Tells auth when keys were last used: at most once a minute per key, in batches, and again what can't be told. */
export class KeyUsage implements Part {
  readonly name = 'key usage';
  readonly #options: KeyUsageOptions;
  /** When each key was last recorded, the oldest first. */
  readonly #recordedAt = new Map<string, number>();
  #unsent = new Map<string, KeyUse>();
  #sending: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: KeyUsageOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.send(), SEND_EVERY_MS).unref();
  }

  async drain(): Promise<void> {
    await this.send();
  }

  /** Requests that were still under way at the drain have recorded theirs by now. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.send();
  }

  /** Notes that the key is used now; costs a look-up unless it is the first time in a minute. */
  record(grant: KeyGrant): void {
    const now = this.#options.clock.now();
    const recordedAt = this.#recordedAt.get(grant.keyId);
    if (recordedAt !== undefined && isWithin(now - recordedAt, ONCE_EVERY_MS)) return;
    if (recordedAt === undefined && this.#recordedAt.size >= this.#options.max) return;
    this.#recordedAt.delete(grant.keyId);
    this.#recordedAt.set(grant.keyId, now);
    this.#unsent.set(grant.keyId, { guildId: grant.guildId, keyId: grant.keyId, usedAt: unixSeconds(now) });
  }

  /** Sends what was recorded, after what is already being sent. */
  send(): Promise<void> {
    this.#sending = this.#sending.then(() => this.#send());
    return this.#sending;
  }

  async #send(): Promise<void> {
    this.#forget();
    let uses = [...this.#unsent.values()];
    this.#unsent.clear();
    try {
      for (; uses.length > 0; uses = uses.slice(BATCH)) {
        await this.#options.client.recordUse({ uses: uses.slice(0, BATCH) });
      }
    } catch (error) {
      this.#options.log.debug({ err: error }, 'the last use of some keys could not be told yet');
      this.#keep(uses);
    }
  }

  /** For the next time, but for keys that were used again meanwhile. */
  #keep(uses: readonly KeyUse[]): void {
    this.#unsent = new Map([...uses.map((use) => [use.keyId, use] as const), ...this.#unsent]);
    dropOldest(this.#unsent, this.#options.max);
  }

  /** Drops what is too old to hold anything back. */
  #forget(): void {
    const now = this.#options.clock.now();
    for (const [keyId, recordedAt] of this.#recordedAt) {
      if (isWithin(now - recordedAt, ONCE_EVERY_MS)) return;
      this.#recordedAt.delete(keyId);
    }
  }
}
