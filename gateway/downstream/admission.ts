import type { Rejection } from '#kit/errors.ts';
import type { Network } from './client-address.ts';
import { OVERLOADS, type OverloadError } from './overload.ts';
import { SERVERS_PER_GUILD, SharedSlots, shareOf } from './slots.ts';

export interface AdmissionOptions {
  /**
   * The maximum number of requests in flight. Waiting polls and requests whose body is still arriving are not included.
   */
  maxInFlight: number;
  /** The maximum number of polls that wait in a service. */
  maxWaitingPolls: number;
}

/** The slots that a request holds at the moment. */
export interface Held {
  slot: 'none' | 'in flight' | 'receiving' | 'waiting';
  /** The guild to whose share the request counts. */
  sharedBy: string | undefined;
  /** True if it counts to the share of waiting polls. */
  isPoll: boolean;
}

/**
 * Limits the concurrent requests of the gateway, in total and for each guild and client address (contract, section 13).
 * A request holds its slot until its response is written to the socket, whether or not the client has read it. A guild
 * holds at most a tenth of `maxInFlight`, including requests whose body is still arriving.
 */
export class Admission {
  readonly #maxInFlight: number;
  #inFlight = 0;
  #receiving = 0;
  readonly #guilds: SharedSlots<string>;
  readonly #polls: SharedSlots<string>;
  readonly #unauthenticated: SharedSlots<Network>;

  constructor({ maxInFlight, maxWaitingPolls }: AdmissionOptions) {
    this.#maxInFlight = maxInFlight;
    this.#guilds = new SharedSlots(Number.POSITIVE_INFINITY, shareOf(maxInFlight));
    this.#polls = new SharedSlots(maxWaitingPolls, shareOf(maxWaitingPolls, SERVERS_PER_GUILD));
    this.#unauthenticated = new SharedSlots(maxInFlight, shareOf(maxInFlight));
  }

  /** The number of requests that count towards `maxInFlight` now. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The number of admitted requests whose body is still arriving. */
  get receiving(): number {
    return this.#receiving;
  }

  /** The number of polls that wait in a service, or are about to. */
  get waitingPolls(): number {
    return this.#polls.taken;
  }

  /** Takes an in-flight slot. */
  enter(held: Held): OverloadError | undefined {
    if (this.#inFlight >= this.#maxInFlight) return OVERLOADS.in_flight;
    this.#inFlight++;
    held.slot = 'in flight';
    return undefined;
  }

  /** Counts the request to the share of its address until `found`, the lookup of its key, is settled. */
  whileUnauthenticated<Found>(network: Network, found: Promise<Found>): Promise<Found> | OverloadError {
    if (!this.#unauthenticated.take(network)) {
      // The lookup has no other consumer, and its failure must not be an unhandled rejection.
      found.catch(() => undefined);
      return OVERLOADS.address;
    }
    return found.finally(() => this.#unauthenticated.release(network));
  }

  /**
   * Counts the request to its guild's share: of the waiting polls if it may wait, otherwise of the requests in flight.
   */
  share(held: Held, guildId: string, isPoll: boolean): Rejection {
    if (isPoll && this.#polls.isFull) return OVERLOADS.polls;
    const shares = isPoll ? this.#polls : this.#guilds;
    if (!shares.take(guildId)) return isPoll ? OVERLOADS.guild_polls : OVERLOADS.guild;
    held.sharedBy = guildId;
    held.isPoll = isPoll;
    return undefined;
  }

  /** Called before a poll waits: it no longer counts as in flight. */
  wait(held: Held): void {
    this.#leaveSlot(held);
    held.slot = 'waiting';
  }

  /** Called while the body is still arriving. Until it is complete, the request does not count as in flight. */
  receive(held: Held): Rejection {
    if (held.slot !== 'in flight') return undefined;
    if (this.#receiving >= this.#maxInFlight) return OVERLOADS.receiving;
    this.#leaveSlot(held);
    this.#receiving++;
    held.slot = 'receiving';
    return undefined;
  }

  /** Called when the body is complete. The request counts as in flight again, even above the limit: it was admitted. */
  received(held: Held): void {
    if (held.slot !== 'receiving') return;
    this.#receiving--;
    this.#inFlight++;
    held.slot = 'in flight';
  }

  /** Releases all slots of the request. */
  leave(held: Held): void {
    this.#leaveSlot(held);
    if (held.sharedBy === undefined) return;
    (held.isPoll ? this.#polls : this.#guilds).release(held.sharedBy);
    held.sharedBy = undefined;
  }

  #leaveSlot(held: Held): void {
    if (held.slot === 'in flight') this.#inFlight--;
    else if (held.slot === 'receiving') this.#receiving--;
    held.slot = 'none';
  }
}
