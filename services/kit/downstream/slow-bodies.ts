import type { IncomingMessage } from 'node:http';
import { setImmediate as immediate } from 'node:timers/promises';
import type { Network } from './client-address.ts';
import { NetworkSlots } from './network-slots.ts';

/**
 * Limits the request bodies that are arriving from clients who may be anybody. Bodies that arrive together with their head, as
 * small ones mostly do, need no slot, so that they are received also while slow senders hold all of them.
 */
export class SlowBodies {
  readonly #slots: NetworkSlots;

  constructor(max: number, maxPerNetwork: number) {
    this.#slots = new NetworkSlots(max, maxPerNetwork);
  }

  /** Waits for a body that is being read. Returns undefined if it is slow and there are too many of them. */
  async receive(
    network: Network,
    request: Pick<IncomingMessage, 'complete'>,
    body: Promise<Buffer>,
  ): Promise<Buffer | undefined> {
    // A failure of the body before it is awaited must not be an unhandled rejection.
    body.catch(() => undefined);
    await immediate();
    if (request.complete) return body;
    if (!this.#slots.take(network)) return undefined;
    return body.finally(() => this.#slots.release(network));
  }
}
