import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { type Address, networkOf } from '#kit/downstream/client-address.ts';
import { ClientDisconnected } from '#kit/downstream/client-disconnected.ts';
import { oneHeader } from '#kit/downstream/headers.ts';
import { receiveBody } from '#kit/downstream/request-body.ts';
import { ApiError, asApiError, methodNotAllowed, type Rejection } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { hasBody } from '#kit/http/body.ts';
import { sendBody } from '#kit/http/envelope.ts';
import type { AuthenticationFailures } from '#kit/limits/authentication-failures.ts';
import type { KeyLookupRates } from '#kit/limits/key-lookup-rates.ts';
import type { Limiter } from '#kit/limits/limiter.ts';
import { addLimitHeaders, rateLimited } from '#kit/limits/response.ts';
import type { AcceptInteractionRequest, InteractionServiceService } from '#proto/gen/guild/auth/v1/interactions.ts';
import { INTERACTION_LIMITS, SIGNATURE_LIMIT } from '#proto/rest/limits.ts';
import type { Admission } from '../downstream/admission.ts';
import type { RequestState } from '../request-state.ts';
import { DEFERRED, messageBody, PONG, readInteraction } from './interaction.ts';
import type { SignatureCheck, SignatureFault, SignatureHeaders } from './signature.ts';
import type { InteractionTelemetry } from './telemetry.ts';

export const INTERACTIONS_PATH = '/interactions';

/** How long a body may take. The platform sends its small bodies at once, and waits three seconds for the response. */
const BODY_MS = 1_000;

const BAD_SIGNATURE = new ApiError('INVALID_SIGNATURE');
const TOO_MANY_FAILURES = 'Too many requests without a valid signature from this address';
const MALFORMED = new ApiError('INVALID_REQUEST', { message: 'The body is no slash command of the chat platform' });
const REPEATED = new ApiError('CONFLICT', { message: 'This interaction was accepted before' });
const UNCHECKED_RETRY_MS = 1_000;

const MESSAGES = {
  outside: 'Use this command in a server.',
  limited: 'You use commands too often. Try again in a minute.',
  unknown_guild: 'This server is not set up yet. Its administrators have to create an API key first.',
  unavailable: 'Commands do not work at the moment. Try again in a minute.',
} as const;

/** The response to each outcome of auth: the body of a success, or an error. */
const ANSWERS = {
  accepted: DEFERRED,
  repeated: REPEATED,
  unknown_guild: messageBody(MESSAGES.unknown_guild),
} as const;

const isOutcome = (text: string): text is keyof typeof ANSWERS => Object.hasOwn(ANSWERS, text);

export interface InteractionsOptions {
  signatures: SignatureCheck;
  /** Counts requests without a valid signature by client address. */
  failures: AuthenticationFailures;
  /** Limits how many signatures are verified for an address with too many failures. */
  rates: KeyLookupRates;
  limiter: Limiter;
  auth: Pick<GrpcClient<typeof InteractionServiceService>, 'acceptInteraction'>;
  clock: Clock;
  telemetry: InteractionTelemetry;
}

/** Accepts slash commands, which the chat platform signs and sends to `/interactions` without an API key. */
export class Interactions {
  readonly #options: InteractionsOptions;

  constructor(options: InteractionsOptions) {
    this.#options = options;
  }

  /** Responds to a request to `/interactions`, or returns the error with which it is rejected. */
  async respond(state: RequestState, admission: Admission, address: Address | undefined): Promise<Rejection> {
    const { request, response, context } = state;
    context.route = 'interactions';
    if (request.method !== 'POST') return methodNotAllowed(['POST']);
    const headers: SignatureHeaders = {
      signature: oneHeader(request, 'x-signature-ed25519'),
      timestamp: oneHeader(request, 'x-signature-timestamp'),
    };
    const rejection = this.#checkBeforeBody(headers, address, response);
    if (rejection) return rejection;
    try {
      const body = hasBody(request)
        ? await admission.receiveInteraction(networkOf(address), request, this.#receive(request, response, address))
        : Buffer.alloc(0);
      if (body instanceof ApiError) return body;
      const overload = admission.enter(state);
      if (overload) return overload;
      if (!this.#options.signatures.verifies(headers, body)) return this.#reject('bad_signature', address, response);
      const answer = await this.#answer(body);
      if (answer instanceof ApiError) return answer;
      if (!response.writableEnded) sendBody(response, 200, answer);
    } catch (error) {
      if (!(error instanceof ClientDisconnected)) return asApiError(error);
    }
    return undefined;
  }

  /** Returns the error of a request whose headers show that its signature cannot be valid, or whose address has failed too often. */
  #checkBeforeBody(headers: SignatureHeaders, address: Address | undefined, response: ServerResponse): Rejection {
    const { signatures, failures, rates, clock, telemetry } = this.#options;
    const fault = signatures.headerFault(headers, clock.now());
    if (fault) return this.#reject(fault, address, response);
    // Checking a signature takes a tenth of a millisecond: an address must not occupy the process with false ones.
    if (!failures.isExhausted(address) || rates.take(address, 'interactions')) return undefined;
    telemetry.ended('too_many_failures');
    addLimitHeaders(failures.state(address), clock, response);
    return tooMany(UNCHECKED_RETRY_MS);
  }

  /** Reads the body. One that arrives too slowly, or is too large, counts as a failure of its address; a lost connection does not. */
  async #receive(request: IncomingMessage, response: ServerResponse, address: Address | undefined): Promise<Buffer> {
    try {
      return await receiveBody(request, response, { totalMs: BODY_MS });
    } catch (error) {
      this.#options.telemetry.ended('incomplete');
      if (error instanceof ApiError) this.#options.failures.count(address);
      throw error;
    }
  }

  /**
   * Counts a failure towards the address. After too many of them further failures get 429, and of the other requests of the address a
   * hundred each second are checked, so that valid ones pass.
   */
  #reject(fault: SignatureFault, address: Address | undefined, response: ServerResponse): ApiError {
    const { failures, clock, telemetry } = this.#options;
    telemetry.ended(fault);
    const state = failures.count(address);
    addLimitHeaders(state, clock, response);
    return state.exhausted ? tooMany(state.resetMs) : BAD_SIGNATURE;
  }

  /** Returns the body of the response to an interaction that the platform has signed. */
  async #answer(body: Buffer): Promise<string | ApiError> {
    const { telemetry } = this.#options;
    const interaction = readInteraction(body);
    if (!interaction) {
      telemetry.ended('malformed');
      return MALFORMED;
    }
    if (interaction.type === 'ping') {
      telemetry.ended('ping');
      return PONG;
    }
    if (interaction.command === 'outside of a guild') {
      telemetry.ended('outside_of_guild');
      return messageBody(MESSAGES.outside);
    }
    return this.#accept(interaction.command);
  }

  /** Auth stores the command before the platform gets its response, so that an accepted command is never lost. */
  async #accept(command: AcceptInteractionRequest): Promise<string | ApiError> {
    const { auth, telemetry } = this.#options;
    if (!(await this.#isWithinLimits(command))) {
      telemetry.ended('limited');
      return messageBody(MESSAGES.limited);
    }
    try {
      const { outcome } = await auth.acceptInteraction(command);
      if (!isOutcome(outcome)) throw new Error(`auth returned the unknown outcome ${outcome}`);
      telemetry.ended(outcome);
      return ANSWERS[outcome];
    } catch (error) {
      telemetry.unavailable(error);
      return messageBody(MESSAGES.unavailable);
    }
  }

  async #isWithinLimits({ guildId, chatId }: AcceptInteractionRequest): Promise<boolean> {
    const { interactions_of_member: ofMember, interactions: ofGuild } = INTERACTION_LIMITS;
    const decision = await this.#options.limiter.decide(guildId, [
      { category: 'interactions_of_member', ...ofMember, subject: `person:${chatId}` },
      { category: 'interactions', ...ofGuild, subject: guildId },
    ]);
    return decision.allowed;
  }
}

const tooMany = (resetMs: number) => rateLimited({ ...SIGNATURE_LIMIT, resetMs }, () => TOO_MANY_FAILURES);
