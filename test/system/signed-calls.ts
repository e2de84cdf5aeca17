import { type Clock, systemClock } from '#kit/clock.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { PRINCIPAL_HEADER, type Principal, signPrincipal } from '#kit/security/principal.ts';
import { API_PREFIX } from '#proto/rest/route.ts';
import { TEST_ADMIN_SECRETS, TEST_SECRETS, testKeys } from './keys.ts';

export { TEST_ADMIN_SECRETS, TEST_SECRETS };

/** The environment of every service that a test starts, on free ports. */
export const testEnvironment = (databaseUrl: string) => ({
  LISTEN_HOST: '127.0.0.1',
  LOG_LEVEL: 'silent',
  // It would be a fifth of the CPU time of a start.
  GRPC_REFLECTION: 'false',
  INTERNAL_KEYS: testKeys(),
  DATABASE_URL: databaseUrl,
  // Nothing listens there: recorded events stay in the queue, and links cannot be read.
  EVENTS_GRPC_ADDRESS: '127.0.0.1:1',
  LOOKUP_GRPC_ADDRESS: '127.0.0.1:1',
  MEMBERS_GRPC_ADDRESS: '127.0.0.1:1',
});

export interface CalledService {
  /** `host:port` of the service's HTTP listener. */
  address: string;
  /** Its name. */
  audience: string;
  secrets?: readonly string[];
  /** The service's clock, if the test controls it. */
  clock?: Clock;
}

export interface ServiceRequest {
  method: string;
  /** The path below the API's prefix, with the query. */
  path: string;
  /** Sent as JSON; strings and buffers are sent unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Aborts the request. */
  signal?: AbortSignal;
}

export interface ServiceResponse {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look at what they expect
  body: any;
}

/** The prefix of the API key in the principal that `callService` signs. */
export const TEST_PREFIX = 'service_900000000000000001_test00';
/** The source of what such a call changes. */
export const TEST_SOURCE = { kind: 'api_key', id: TEST_PREFIX, requestId: 'test' };
/** The source of what follows from it later, such as the results of a job. */
export const RESULT_SOURCE = { kind: 'api_key', id: TEST_PREFIX };

/** Calls a service as the gateway does, with the principal of a key, signed for this request. */
export async function callService(
  service: CalledService,
  principal: Pick<Principal, 'guildId'> & Partial<Principal>,
  { method, path, body, headers = {}, signal }: ServiceRequest,
): Promise<ServiceResponse> {
  const target = API_PREFIX + path;
  const whole = {
    keyId: `${principal.guildId}-1`,
    keyPrefix: TEST_PREFIX,
    scopes: null,
    legacy: true,
    requestId: 'test',
    ...principal,
  };
  const signedRequest = { audience: service.audience, method, target };
  const ring = new SecretRing(service.secrets ?? TEST_SECRETS);
  const response = await fetch(`http://${service.address}${target}`, {
    method,
    headers: {
      [PRINCIPAL_HEADER]: signPrincipal(ring, whole, signedRequest, (service.clock ?? systemClock).now()),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(signal && { signal }),
    ...(body === undefined ? {} : { body: isRaw(body) ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** The header of a signed principal for a GET request, as the gateway sends it. */
export function signedHeaders(
  { audience, secrets = TEST_SECRETS, clock = systemClock }: Omit<CalledService, 'address'>,
  principal: Pick<Principal, 'guildId'> & Partial<Principal>,
  target: string,
): Record<string, string> {
  const keyId = `${principal.guildId}-1`;
  const whole = { keyId, keyPrefix: TEST_PREFIX, scopes: null, legacy: true, requestId: 'test', ...principal };
  return {
    [PRINCIPAL_HEADER]: signPrincipal(new SecretRing(secrets), whole, { audience, method: 'GET', target }, clock.now()),
  };
}

const isRaw = (body: unknown): body is string | Buffer<ArrayBuffer> =>
  typeof body === 'string' || Buffer.isBuffer(body);
