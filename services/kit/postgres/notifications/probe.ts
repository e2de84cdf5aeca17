import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Client } from 'pg';

/** The time in milliseconds after which a probe that was not delivered is late, and with one host its connection lost. */
export const PROBE_TIMEOUT_MS = 2_000;
/**
 * With several hosts, the time in milliseconds after which a connection is replaced whose probe is late. It is longer,
 * because the session of a commit that waits for a standby stays on the server when its connection is closed.
 */
const LATE_PROBE_TIMEOUT_MS = 10_000;
/**
 * With several hosts each probe also writes, so that its commit waits for a synchronous standby: without that a former
 * primary that is cut off from the other servers would prove that all changes arrive, while the next one commits others.
 */
const REPLICATED = "SELECT pg_logical_emit_message(true, 'listener', '')";

/** The notifications with which one connection of a listener proves to itself that notifications arrive. */
export class ListenerProbe {
  /** Each connection has a channel of its own, so that no other process receives its probes. */
  readonly channel = `probe_${randomBytes(8).toString('hex')}`;
  /** The time in milliseconds after which a connection whose probe is late is replaced. */
  readonly lostAfterMs: number;
  readonly #statement: string;
  #delivered: (() => void) | undefined;

  constructor(hasSeveralHosts: boolean) {
    this.lostAfterMs = hasSeveralHosts ? LATE_PROBE_TIMEOUT_MS : PROBE_TIMEOUT_MS;
    this.#statement = hasSeveralHosts ? `${REPLICATED}; NOTIFY ${this.channel}` : `NOTIFY ${this.channel}`;
  }

  /** Called when a notification on the channel of the probe has arrived. */
  delivered(): void {
    this.#delivered?.();
  }

  /**
   * Sends a probe and resolves when it was delivered, with the time of the monotonic clock when it was sent.
   * Notifications arrive in order, so all earlier ones have been delivered too. Calls `onLate` again and again once the
   * probe is late.
   */
  async send(client: Client, signal: AbortSignal, onLate: () => void): Promise<number> {
    const sentAt = performance.now();
    const delivery = Promise.withResolvers<void>();
    this.#delivered = delivery.resolve;
    const fail = () => delivery.reject(new Error('notifications no longer arrive'));
    // If this process has stalled, the probe's notification may already be waiting in the socket; setImmediate lets it
    // be read before the probe fails.
    const deadline = setTimeout(() => setImmediate(fail), this.lostAfterMs);
    const late = setInterval(onLate, PROBE_TIMEOUT_MS);
    signal.addEventListener('abort', fail, { once: true });
    try {
      await Promise.all([client.query(this.#statement), delivery.promise]);
      return sentAt;
    } finally {
      clearTimeout(deadline);
      clearInterval(late);
      signal.removeEventListener('abort', fail);
    }
  }
}
