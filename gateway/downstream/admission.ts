import type { IncomingMessage } from 'node:http';
import type { Network } from '#kit/downstream/client-address.ts';
import { NetworkSlots } from '#kit/downstream/network-slots.ts';
import { SERVERS_PER_GUILD, SharedSlots, shareOf } from '#kit/downstream/slots.ts';
import { SlowBodies } from '#kit/downstream/slow-bodies.ts';
import type { Rejection } from '#kit/errors.ts';
import { OVERLOADS, type OverloadError } from './overload.ts';

export interface AdmissionOptions {
  /**
   * The maximum number of requests in flight, without waiting polls and without requests whose body is still arriving.
   */
  maxInFlight: number;
  /** The maximum number of polls that wait in a service. */
  maxWaitingPolls: number;
}

/** The slots (shares of the limits on concurrent requests) that one request holds at the moment. */
export interface Held {
  slot: 'none' | 'in flight' | 'receiving' | 'waiting';
  /** The guild whose share of the slots the request uses. */
  sharedBy: string | undefined;
  /** True if the request uses a slot of the guild's share of waiting polls. */
  isPoll: boolean;
}

/**
 * Limits the concurrent requests of the gateway, in total and for each guild and client address.
 * A request holds its slot until its response is written to the socket, whether or not the client has read it. A guild
 * holds at most a tenth of `maxInFlight`, including requests whose body is still arriving.
 */
export class Admission {
  readonly #maxInFlight: number;
  #inFlight = 0;
  #receiving = 0;
  readonly #guilds: SharedSlots<string>;
  readonly #polls: SharedSlots<string>;
  readonly #unauthenticated: NetworkSlots;
  readonly #interactions: SlowBodies<Network>;

  constructor({ maxInFlight, maxWaitingPolls }: AdmissionOptions) {
    this.#maxInFlight = maxInFlight;
    this.#guilds = new SharedSlots(Number.POSITIVE_INFINITY, shareOf(maxInFlight));
    this.#polls = new SharedSlots(maxWaitingPolls, shareOf(maxWaitingPolls, SERVERS_PER_GUILD));
    this.#unauthenticated = new NetworkSlots(maxInFlight, shareOf(maxInFlight));
    const forInteractions = shareOf(maxInFlight);
    this.#interactions = new SlowBodies(new NetworkSlots(forInteractions, shareOf(forInteractions)));
  }

  /** The number of requests that count towards `maxInFlight` now. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The number of admitted requests whose body is still arriving from the client. */
  get receiving(): number {
    return this.#receiving;
  }

  /** The number of long polls that wait in a service or will wait there in a moment. */
  get waitingPolls(): number {
    return this.#polls.taken;
  }

  /** Takes an in-flight slot for a request. Returns an OverloadError if none is free. */
  enter(held: Held): OverloadError | undefined {
    if (this.#inFlight >= this.#maxInFlight) return OVERLOADS.in_flight;
    this.#inFlight++;
    held.slot = 'in flight';
    return undefined;
  }

  /** Counts a request towards the share of its client address until `found`, the lookup of its API key, is settled. */
  whileUnauthenticated<Found>(network: Network, found: Promise<Found>): Promise<Found> | OverloadError {
    if (!this.#unauthenticated.take(network)) {
      // A lookup of an API key that nobody else awaits must not cause an unhandled rejection.
      found.catch(() => undefined);
      return OVERLOADS.address;
    }
    return found.finally(() => this.#unauthenticated.release(network));
  }

  /**
   * Waits for the body of a slash command, of which anybody may be the sender until its signature has been checked. Slow bodies
   * count towards shares of their own, so that they take no slot from other requests.
   */
  async receiveInteraction(
    network: Network,
    request: Pick<IncomingMessage, 'complete'>,
    body: Promise<Buffer>,
  ): Promise<Buffer | OverloadError> {
    return (await this.#interactions.receive(network, request, body)) ?? OVERLOADS.interactions;
  }

  /**
   * Counts a request towards its guild's share: of the waiting polls if it is a poll, otherwise of the requests in
   * flight.
   */
  share(held: Held, guildId: string, isPoll: boolean): Rejection {
    if (isPoll && this.#polls.isFull) return OVERLOADS.polls;
    const shares = isPoll ? this.#polls : this.#guilds;
    if (!shares.take(guildId)) return isPoll ? OVERLOADS.guild_polls : OVERLOADS.guild;
    held.sharedBy = guildId;
    held.isPoll = isPoll;
    return undefined;
  }

  /** Called before a poll waits in a service: the poll no longer counts as in flight. */
  wait(held: Held): void {
    this.#leaveSlot(held);
    held.slot = 'waiting';
  }

  /**
   * Called while the body of a request is still arriving. Until it is complete, the request does not count as in
   * flight.
   */
  receive(held: Held): Rejection {
    if (held.slot !== 'in flight') return undefined;
    if (this.#receiving >= this.#maxInFlight) return OVERLOADS.receiving;
    this.#leaveSlot(held);
    this.#receiving++;
    held.slot = 'receiving';
    return undefined;
  }

  /**
   * Called when the body of a request is complete. The request counts as in flight again, even above the limit, because
   * it was already admitted.
   */
  received(held: Held): void {
    if (held.slot !== 'receiving') return;
    this.#receiving--;
    this.#inFlight++;
    held.slot = 'in flight';
  }

  /**
   * Releases all slots that the request holds, so that they no longer count towards the limits on concurrent requests.
   */
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
