import type { Clock } from '#kit/clock.ts';
import { ApiError, invalidRequest } from '#kit/errors.ts';
import { Matcher } from '#kit/http/match.ts';
import { splitTarget } from '#kit/http/target.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import { CONSOLE_KEY, signPrincipal } from '#kit/security/principal.ts';
import { type GuildRole, ROLE_SCOPES, roleAllowsRoute } from '#proto/console/roles.ts';
import { API_PREFIX, type Route } from '#proto/rest/route.ts';
import type { ConsoleTelemetry } from '../../console-telemetry.ts';
import type { ConsoleSession, ConsoleSessions } from './sessions.ts';

/** Routes of the gateway itself, which the console cannot reach. */
const GATEWAY = 'gateway';

/** One REST request of a person. */
export interface PersonsRequest {
  token: string;
  guildId: string;
  method: string;
  /** The HTTP request target as it will be sent, including the query. */
  target: string;
  requestId: string;
  address: string;
}

/** The signed principal of a request, and the route and person that it is for. */
export interface SignedRequest {
  route: Route;
  principal: string;
  personId: string;
  role: GuildRole;
}

export interface RequestSignerOptions {
  sessions: ConsoleSessions;
  /** The key ring with the keys that sign principals. */
  ring: KeyRing;
  /** The clock of this process, which services compare with theirs. */
  clock: Clock;
  telemetry: ConsoleTelemetry;
}

/** Signs the principals of REST requests of persons who are signed in and whose role allows the route. */
export class RequestSigner {
  readonly #options: RequestSignerOptions;
  #matcher: Promise<Matcher> | undefined;

  constructor(options: RequestSignerOptions) {
    this.#options = options;
  }

  /**
   * Signs a request. Throws ROUTE_NOT_FOUND or METHOD_NOT_ALLOWED if the API has no such route, GUILD_MISMATCH if the
   * path names another guild, NOT_SIGNED_IN without a session, and ROLE_TOO_LOW if the role does not allow the route.
   */
  async sign(request: PersonsRequest): Promise<SignedRequest> {
    const { telemetry } = this.#options;
    const route = await this.#routeOf(request);
    const { session, role } = await this.#find(request);
    if (!role || !roleAllowsRoute(role, route)) {
      telemetry.requestRejected('role_too_low');
      throw new ApiError('ROLE_TOO_LOW');
    }
    telemetry.requestSigned();
    return { route, role, personId: session.personId, principal: this.#principal(request, session, role, route) };
  }

  async #routeOf({ method, target, guildId }: PersonsRequest): Promise<Route> {
    const { path } = splitTarget(target);
    if (!isDecodable(path)) {
      throw invalidRequest([{ path: 'path', message: 'has a percent-escape that cannot be read' }]);
    }
    this.#matcher ??= loadMatcher();
    const match = (await this.#matcher).match(method, path);
    if (match instanceof ApiError) throw match;
    const { guildId: named } = match.params;
    if (named !== undefined && named !== guildId) throw new ApiError('GUILD_MISMATCH');
    return match.route;
  }

  async #find({ token, guildId }: PersonsRequest) {
    try {
      return await this.#options.sessions.find(token, guildId);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'NOT_SIGNED_IN') {
        this.#options.telemetry.requestRejected('not_signed_in');
      }
      throw error;
    }
  }

  #principal(
    { guildId, requestId, address, method, target }: PersonsRequest,
    { personId }: ConsoleSession,
    role: GuildRole,
    { service }: Route,
  ): string {
    const { ring, clock } = this.#options;
    const principal = {
      keyId: CONSOLE_KEY,
      keyPrefix: CONSOLE_KEY,
      person: { id: personId, role },
      guildId,
      scopes: ROLE_SCOPES[role],
      legacy: false,
      requestId,
      address,
    };
    return signPrincipal(ring, principal, { audience: service, method, target }, clock.now());
  }
}

/** Loads the route table with the first request: the schemas of all routes take 6 MB, which auth needs only for persons in the console. */
async function loadMatcher(): Promise<Matcher> {
  const { ROUTES } = await import('#proto/rest/index.ts');
  const reachable = ROUTES.filter(({ service }) => service !== GATEWAY);
  return new Matcher(reachable, API_PREFIX);
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
