import type { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { ApiError, ERRORS, type ErrorCode } from '#kit/errors.ts';
import { REQUEST_ID_HEADER } from '#kit/http/request-id.ts';
import type { Upstream } from '#kit/http/upstream.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import { CONSOLE_KEY, PRINCIPAL_HEADER, signPrincipal } from '#kit/security/principal.ts';
import type { GuildRole } from '#proto/console/roles.ts';
import { API_PREFIX, type Route } from '#proto/rest/route.ts';
import type { Scope } from '#proto/rest/scopes.ts';

const MAX_BYTES = 1024 * 1024;

/** The services that slash commands call. */
export const CALLED_SERVICES = ['members', 'activity', 'moderation'] as const;
export type CalledService = (typeof CALLED_SERVICES)[number];

/** The member for whom a call is made. */
export interface CallingMember {
  guildId: string;
  chatId: string;
  /** The ID of the interaction: of all writes with one ID, each is made once. */
  interactionId: string;
  role: GuildRole;
}

/** One call of a REST route. */
export interface RestCall<Called extends Route> {
  route: Called;
  /** The parameters of the route's path besides the guild. */
  params?: Record<string, string | number>;
  body?: Record<string, unknown>;
  /** The scopes of the call; by default the route's. */
  scopes?: readonly Scope[];
}

export interface RestCallsOptions {
  upstreams: Readonly<Record<CalledService, Pick<Upstream, 'exchange'>>>;
  /** The key ring with the keys that sign principals. */
  ring: KeyRing;
  /** The clock of this process, which services compare with theirs. */
  clock: Clock;
}

/** Calls the REST routes of other services for members who use slash commands. */
export class RestCalls {
  readonly #options: RestCallsOptions;

  constructor(options: RestCallsOptions) {
    this.#options = options;
  }

  /** Makes a call and returns the data of its response. Throws the ApiError that the route returned. */
  async make<Called extends Route>(
    member: CallingMember,
    { route, params = {}, body, scopes = route.scope === null ? [] : [route.scope] }: RestCall<Called>,
  ): Promise<z.output<Called['data']>> {
    const { upstreams, ring, clock } = this.#options;
    const { guildId, chatId, interactionId, role } = member;
    const { method, writes } = route;
    const target = API_PREFIX + targetOf(route.path, { guildId, ...params });
    const requestId = `interaction-${interactionId}`;
    const person = { id: chatId, role };
    const principal = { keyId: CONSOLE_KEY, keyPrefix: CONSOLE_KEY, person, guildId, scopes, legacy: false, requestId };
    const signed = { audience: route.service, method, target };
    const request = {
      method,
      target,
      headers: {
        [PRINCIPAL_HEADER]: signPrincipal(ring, principal, signed, clock.now()),
        [REQUEST_ID_HEADER]: requestId,
        'x-guild-id': guildId,
        ...(body && { 'content-type': 'application/json' }),
        ...(writes && { 'idempotency-key': requestId }),
      },
      body: body && Buffer.from(JSON.stringify({ guild_id: guildId, ...body })),
    };
    const envelope = parse(await upstreams[route.service as CalledService].exchange(request, MAX_BYTES));
    if (envelope.status === 'success') return envelope.data as z.output<Called['data']>;
    throw errorOf(envelope);
  }
}

/** The path of a route with its parameters. */
function targetOf(path: string, params: Record<string, string | number>): string {
  return path.replaceAll(/:([A-Za-z]+)/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '')));
}

interface Envelope {
  status?: string;
  message?: string;
  data?: unknown;
  details?: { code?: string };
}

function parse(body: Buffer): Envelope {
  try {
    return JSON.parse(body.toString()) as Envelope;
  } catch (cause) {
    throw new ApiError('UNAVAILABLE', { cause });
  }
}

function errorOf({ message, details }: Envelope): ApiError {
  const code = details?.code ?? '';
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'INTERNAL';
  return new ApiError(known, message === undefined ? {} : { message });
}
