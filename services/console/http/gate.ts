import type { IncomingMessage, ServerResponse } from 'node:http';
import { requestContext } from '#kit/context.ts';
import { type Address, type Network, networkOf } from '#kit/downstream/client-address.ts';
import type { ClientConnections } from '#kit/downstream/client-connections.ts';
import { NetworkSlots } from '#kit/downstream/network-slots.ts';
import { receiveBody } from '#kit/downstream/request-body.ts';
import { SharedSlots, shareOf } from '#kit/downstream/slots.ts';
import { type Slots, SlowBodies } from '#kit/downstream/slow-bodies.ts';
import { ApiError, asApiError } from '#kit/errors.ts';
import { hasBody } from '#kit/http/body.ts';
import type { Caller } from '#proto/gen/guild/auth/v1/console.ts';
import { type Persons, sessionKey } from '../limits/persons.ts';
import type { Windows } from '../limits/windows.ts';
import { readCookie, SESSION_COOKIE } from './cookies.ts';
import { checkOrigin, checkWrite, writes } from './origin.ts';

/** The number of requests that one person may have in flight. */
const MAX_IN_FLIGHT_OF_PERSON = 8;
/** The number of requests without a known session that one address may have in flight: a browser sends six at a time. */
const MAX_IN_FLIGHT_OF_ADDRESS = 6;
/** How long the body of a request may take. */
const BODY_MS = 10_000;

/** A request of a browser. The address is undefined if no proxy has named a valid one. */
export interface BrowserRequest {
  request: IncomingMessage;
  response: ServerResponse;
  address: Address | undefined;
}

/** What a request does once it is admitted. The body is empty if it has none. */
type Work<Result> = (caller: Caller, body: Buffer) => Promise<Result>;

export interface GateOptions {
  persons: Persons;
  windows: Windows;
  consoleOrigin: string;
  maxInFlight: number;
  connections: ClientConnections;
}

/**
 * Admits requests: checks where they come from, and limits how many one person or address may make. A request takes its slot
 * when its body is complete, so that slow senders hold none.
 */
export class Gate {
  readonly #options: GateOptions;
  /** Slots of persons. */
  readonly #slots: SharedSlots<string>;
  /** Slots of addresses whose person is not known yet. Strangers cannot take those of persons. */
  readonly #strangers: NetworkSlots;
  readonly #bodies: SlowBodies<string>;
  readonly #bodiesOfStrangers: SlowBodies<Network>;

  constructor(options: GateOptions) {
    const { maxInFlight } = options;
    const strangers = Math.max(1, Math.floor(maxInFlight / 4));
    this.#options = options;
    this.#slots = new SharedSlots(Math.max(1, maxInFlight - strangers), MAX_IN_FLIGHT_OF_PERSON);
    this.#strangers = new NetworkSlots(strangers, MAX_IN_FLIGHT_OF_ADDRESS);
    this.#bodies = new SlowBodies(new SharedSlots(maxInFlight, MAX_IN_FLIGHT_OF_PERSON));
    this.#bodiesOfStrangers = new SlowBodies(new NetworkSlots(maxInFlight, shareOf(maxInFlight)));
  }

  /** The number of requests in flight. */
  get inFlight(): number {
    return this.#slots.taken + this.#strangers.taken;
  }

  /** The number of requests whose body is still arriving, without those whose body arrived together with their head. */
  get receiving(): number {
    return this.#bodies.count + this.#bodiesOfStrangers.count;
  }

  /** Runs `work` for a request that needs no session. Throws if the request is rejected. */
  async withoutSession<Result>(browser: BrowserRequest, work: Work<Result>): Promise<Result> {
    const { request, address } = browser;
    const rejection = writes(request) ? checkOrigin(request, this.#options.consoleOrigin) : undefined;
    if (rejection) throw rejection;
    const body = await this.#bodyOf(browser);
    return withSlot(this.#strangers, networkOf(address), () => work(callerOf('', address), body));
  }

  /**
   * Runs `work` for a request with a session. Throws if the request is rejected. The session is not checked here: auth
   * checks it with each call that `work` makes.
   */
  async withSession<Result>(browser: BrowserRequest, work: Work<Result>): Promise<Result> {
    const { persons, windows, consoleOrigin, connections } = this.#options;
    const { request, address } = browser;
    const token = readCookie(request, SESSION_COOKIE);
    if (token === undefined) throw new ApiError('NOT_SIGNED_IN');
    const caller = callerOf(token, address);
    const person = persons.known(caller);
    const network = String(networkOf(address));
    const rejection =
      (writes(request) ? checkWrite(request, consoleOrigin, token) : undefined) ??
      (person === undefined ? windows.check('unknown_session', network) : undefined) ??
      windows.count('session', sessionKey(token));
    if (rejection) throw rejection;
    // A person's connections no longer count towards the share of the address, which others may have too.
    if (person !== undefined) connections.authenticated(request.socket, person);
    const body = await this.#bodyOf(browser, person).catch((error: unknown) => {
      // A session that is not known yet may not exist.
      if (person === undefined) windows.count('unknown_session', network);
      throw error;
    });
    try {
      if (person !== undefined) return await withSlot(this.#slots, person, () => work(caller, body));
      return await withSlot(this.#strangers, networkOf(address), () => work(caller, body));
    } catch (thrown) {
      if (!isUnknownSession(asApiError(thrown))) throw thrown;
      persons.forget(caller);
      windows.count('unknown_session', network);
      throw new ApiError('NOT_SIGNED_IN');
    }
  }

  /**
   * Reads the body of a request; `person` is undefined if it is not known. Throws PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT,
   * ClientDisconnected, and UNAVAILABLE if too many bodies are slow.
   */
  async #bodyOf({ request, response, address }: BrowserRequest, person?: string): Promise<Buffer> {
    if (!hasBody(request)) return Buffer.alloc(0);
    const reading = receiveBody(request, response, { totalMs: BODY_MS });
    const body = await (person === undefined
      ? this.#bodiesOfStrangers.receive(networkOf(address), request, reading)
      : this.#bodies.receive(person, request, reading));
    if (!body) throw overload();
    return body;
  }
}

/** Runs `work` while it holds one of the slots. Throws UNAVAILABLE if the holder has no slot left. */
async function withSlot<Result, Holder>(
  slots: Slots<Holder>,
  holder: Holder,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!slots.take(holder)) throw overload();
  try {
    return await work();
  } finally {
    slots.release(holder);
  }
}

const overload = () =>
  new ApiError('UNAVAILABLE', { message: 'Too many requests are in flight, try again soon', retryAfter: 1 });

/** True if auth does not know the session, or no longer. */
const isUnknownSession = ({ code }: ApiError) => code === 'MISSING_API_KEY' || code === 'NOT_SIGNED_IN';

function callerOf(sessionToken: string, address: Address | undefined): Caller {
  return { sessionToken, address: address?.toString() ?? '', requestId: requestContext.getStore()?.requestId ?? '' };
}
