import type { Refusal } from '#kit/errors.ts';
import type { Network } from './client-address.ts';
import { OVERLOADS, type OverloadError } from './overload.ts';
import { SERVERS_PER_GUILD, SharedSlots, shareOf } from './slots.ts';

export interface AdmissionOptions {
  /** Requests in flight, waiting polls and requests whose body is still arriving apart. */
  maxInFlight: number;
  /** Polls that wait in a service. */
  maxWaitingPolls: number;
}

/** What a request holds at the moment. */
export interface Held {
  slot: 'none' | 'in flight' | 'receiving' | 'waiting';
  /** The guild of whose share it holds a part. */
  sharedBy: string | undefined;
  /** Whether that is a part of the share of waiting polls. */
  isPoll: boolean;
}

/**
 * Bounds the requests that the gateway works on, in total and for each guild and client address (contract, section 13).
 * A request holds its slot until its response is written to the socket; how long its client takes to read is not
 * counted. A guild holds at most a tenth of `maxInFlight`, requests whose body is arriving included.
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

  /** Requests that count towards `maxInFlight` now. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Admitted requests whose body is still arriving. */
  get receiving(): number {
    return this.#receiving;
  }

  /** Polls that wait in a service, or are about to. */
  get waitingPolls(): number {
    return this.#polls.taken;
  }

  /** Takes a slot in flight. */
  enter(held: Held): OverloadError | undefined {
    if (this.#inFlight >= this.#maxInFlight) return OVERLOADS.in_flight;
    this.#inFlight++;
    held.slot = 'in flight';
    return undefined;
  }

  /** Has the address share the slot until `found`, the look-up of the request's key, is settled. */
  whileUnauthenticated<Found>(network: Network, found: Promise<Found>): Promise<Found> | OverloadError {
    if (!this.#unauthenticated.take(network)) {
      // Nobody waits for the look-up any more.
      found.catch(() => undefined);
      return OVERLOADS.address;
    }
    return found.finally(() => this.#unauthenticated.release(network));
  }

  /** Takes a part of the guild's share: of the waiting polls if the request asks to wait, else of those in flight. */
  share(held: Held, guildId: string, isPoll: boolean): Refusal {
    if (isPoll && this.#polls.isFull) return OVERLOADS.polls;
    const shares = isPoll ? this.#polls : this.#guilds;
    if (!shares.take(guildId)) return isPoll ? OVERLOADS.guild_polls : OVERLOADS.guild;
    held.sharedBy = guildId;
    held.isPoll = isPoll;
    return undefined;
  }

  /** The poll is about to wait: it no longer counts as in flight. */
  wait(held: Held): void {
    this.#leaveSlot(held);
    held.slot = 'waiting';
  }

  /** The body is still arriving, at the client's pace: until it is there the request does not count as in flight. */
  receive(held: Held): Refusal {
    if (held.slot !== 'in flight') return undefined;
    if (this.#receiving >= this.#maxInFlight) return OVERLOADS.receiving;
    this.#leaveSlot(held);
    this.#receiving++;
    held.slot = 'receiving';
    return undefined;
  }

  /** The body is there. The request counts as in flight again; it was admitted, so it is not refused any more. */
  received(held: Held): void {
    if (held.slot !== 'receiving') return;
    this.#receiving--;
    this.#inFlight++;
    held.slot = 'in flight';
  }

  /** Releases all that the request holds. */
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
