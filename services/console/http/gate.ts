import type { IncomingMessage } from 'node:http';
import { requestContext } from '#kit/context.ts';
import { type Address, networkOf } from '#kit/downstream/client-address.ts';
import type { ClientConnections } from '#kit/downstream/client-connections.ts';
import { SharedSlots } from '#kit/downstream/slots.ts';
import { ApiError, asApiError } from '#kit/errors.ts';
import type { Caller } from '#proto/gen/guild/auth/v1/console.ts';
import { type Persons, sessionKey } from '../limits/persons.ts';
import type { Windows } from '../limits/windows.ts';
import { readCookie, SESSION_COOKIE } from './cookies.ts';
import { checkOrigin, checkWrite, writes } from './origin.ts';

/** The number of requests that one person, or one address without a session, may have in flight. */
const MAX_IN_FLIGHT_PER_HOLDER = 8;

export interface GateOptions {
  persons: Persons;
  windows: Windows;
  consoleOrigin: string;
  maxInFlight: number;
  connections: ClientConnections;
}

/** Admits requests: checks where they come from, and limits how many one person or address may make. */
export class Gate {
  readonly #options: GateOptions;
  /** Slots of persons. */
  readonly #slots: SharedSlots<string>;
  /** Slots of addresses whose person is not known yet. Strangers cannot take those of persons. */
  readonly #strangers: SharedSlots<string>;

  constructor(options: GateOptions) {
    const { maxInFlight } = options;
    const strangers = Math.max(1, Math.floor(maxInFlight / 4));
    this.#options = options;
    this.#slots = new SharedSlots(Math.max(1, maxInFlight - strangers), MAX_IN_FLIGHT_PER_HOLDER);
    this.#strangers = new SharedSlots(strangers, MAX_IN_FLIGHT_PER_HOLDER);
  }

  /** The number of requests in flight. */
  get inFlight(): number {
    return this.#slots.taken + this.#strangers.taken;
  }

  /** Runs `work` for a request that needs no session. Throws if the request is rejected. */
  async withoutSession<Result>(
    request: IncomingMessage,
    address: Address | undefined,
    work: (caller: Caller) => Promise<Result>,
  ): Promise<Result> {
    const rejection = writes(request) ? checkOrigin(request, this.#options.consoleOrigin) : undefined;
    if (rejection) throw rejection;
    return within(this.#strangers, String(networkOf(address)), () => work(callerOf('', address)));
  }

  /**
   * Runs `work` for a request with a session. Throws if the request is rejected. The session is not checked here: auth
   * checks it with each call that `work` makes.
   */
  async withSession<Result>(
    request: IncomingMessage,
    address: Address | undefined,
    work: (caller: Caller) => Promise<Result>,
  ): Promise<Result> {
    const { persons, windows, consoleOrigin, connections } = this.#options;
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
    try {
      if (person !== undefined) return await within(this.#slots, person, () => work(caller));
      return await within(this.#strangers, network, () => work(caller));
    } catch (thrown) {
      const error = asApiError(thrown);
      if (!isUnknownSession(error)) throw error;
      persons.forget(caller);
      windows.count('unknown_session', network);
      throw new ApiError('NOT_SIGNED_IN');
    }
  }
}

/** Runs `work` while it holds one of the slots. Throws UNAVAILABLE if the holder has no slot left. */
async function within<Result>(
  slots: SharedSlots<string>,
  holder: string,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!slots.take(holder)) {
    throw new ApiError('UNAVAILABLE', { message: 'Too many requests are in flight, try again soon', retryAfter: 1 });
  }
  try {
    return await work();
  } finally {
    slots.release(holder);
  }
}

/** True if auth does not know the session, or no longer. */
const isUnknownSession = ({ code }: ApiError) => code === 'MISSING_API_KEY' || code === 'NOT_SIGNED_IN';

function callerOf(sessionToken: string, address: Address | undefined): Caller {
  return { sessionToken, address: address?.toString() ?? '', requestId: requestContext.getStore()?.requestId ?? '' };
}
