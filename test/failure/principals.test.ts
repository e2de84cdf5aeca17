import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SecretRing } from '#kit/security/keyring.ts';
import { PRINCIPAL_HEADER, type Principal, type SignedRequest, signPrincipal } from '#kit/security/principal.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { API_PREFIX, type Route } from '#proto/rest/route.ts';
import { printFigure } from '../measure/figures.ts';
import { GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

let network: Network;

beforeAll(async () => {
  network = await startNetwork();
});
afterAll(() => network.stop());

const PRINCIPAL: Principal = {
  keyId: `${GUILD}-1`,
  keyPrefix: 'test',
  guildId: GUILD,
  scopes: null,
  legacy: true,
  requestId: 'test',
};
const SIGNED_ROUTES = ROUTES.filter(({ service }) => service !== 'gateway');
const MINUTE = 60_000;

/** A request to a route with a value for each parameter. */
function requestTo(route: Route): SignedRequest {
  const path = route.path.replace(':guildId', GUILD).replaceAll(/:[A-Za-z]+/g, '7');
  return { audience: route.service, method: route.method, target: API_PREFIX + path };
}

const decode = (payload: string) => JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A valid signature of other contents. */
function changed(signed: string, change: object): string {
  const [payload = '', mac = ''] = signed.split('.');
  return `${encode({ ...decode(payload), ...change })}.${mac}`;
}

/** All kinds of invalid principals for a request to a route. */
const FORGERIES: Record<string, (request: SignedRequest, ring: SecretRing) => string | undefined> = {
  'is not there': () => undefined,
  'is empty': () => '',
  'is not a signed principal': () => 'e30.AAAA',
  'is not signed': (request, ring) => `${sign(request, ring).split('.')[0]}.`,
  'is cut short': (request, ring) => sign(request, ring).slice(0, -4),
  'is there twice': (request, ring) => `${sign(request, ring)}, ${sign(request, ring)}`,
  'is signed with another secret': (request) => sign(request, new SecretRing(['x'.repeat(32)])),
  "is signed with the administrators' secret": (request) => sign(request, new SecretRing([network.secrets.admin])),
  'has expired': (request, ring) => sign(request, ring, Date.now() - MINUTE),
  'is of the future': (request, ring) => sign(request, ring, Date.now() + MINUTE),
  'was lengthened': (request, ring) =>
    changed(sign(request, ring, Date.now() - MINUTE), { expiresAt: Date.now() + MINUTE }),
  'names another guild than was signed': (request, ring) => changed(sign(request, ring), { guildId: OTHER_GUILD }),
  'names other scopes than were signed': (request, ring) => changed(sign(request, ring), { scopes: ['sync:write'] }),
  'was for another guild': (request, ring) =>
    sign(
      {
        ...request,
        target: request.target.replace(GUILD, OTHER_GUILD).concat(request.target.includes(GUILD) ? '' : '?guild'),
      },
      ring,
    ),
  'was for another path': (request, ring) => sign({ ...request, target: `${request.target}7` }, ring),
  'was for another query': (request, ring) => sign({ ...request, target: `${request.target}?a=b` }, ring),
  'was for another method': (request, ring) =>
    sign({ ...request, method: request.method === 'GET' ? 'POST' : 'GET' }, ring),
  'was for another service': (request, ring) =>
    sign({ ...request, audience: request.audience === 'lookup' ? 'members' : 'lookup' }, ring),
  'is of a version to come': (request, ring) => {
    const payload = encode({ ...decode(sign(request, ring).split('.')[0] ?? ''), version: 2 });
    const mac = ring.mac(`principal:${request.audience}`, `${payload}\n${request.method}\n${request.target}`);
    return `${payload}.${mac.toString('base64url')}`;
  },
};

function sign(request: SignedRequest, ring: SecretRing, now = Date.now()): string {
  return signPrincipal(ring, PRINCIPAL, request, now);
}

async function answerTo({ audience, method, target }: SignedRequest, header: string | undefined) {
  const response = await fetch(`http://${network.address(audience, 'http')}${target}`, {
    method,
    headers: header === undefined ? {} : { [PRINCIPAL_HEADER]: header },
  });
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel();
    return { status: response.status, code: undefined };
  }
  const { details } = (await response.json()) as { details?: { code: string } };
  return { status: response.status, code: details?.code };
}

describe('a service rejects a principal that', () => {
  it.each(Object.entries(FORGERIES))('%s, on any of its routes', async (_what, forge) => {
    const ring = new SecretRing([network.secrets.internal]);
    const answers = await Promise.all(
      SIGNED_ROUTES.map(async (route) => {
        const request = requestTo(route);
        return [route.name, await answerTo(request, forge(request, ring))] as const;
      }),
    );
    const rejected = SIGNED_ROUTES.map(({ name }) => [name, { status: 401, code: 'MISSING_API_KEY' }]);
    expect(answers).toEqual(rejected);
  });

  it('and accepts valid principals on the same routes', async () => {
    const ring = new SecretRing([network.secrets.internal]);
    const answers = await Promise.all(
      SIGNED_ROUTES.map(async (route) => {
        const request = requestTo(route);
        return { name: route.name, ...(await answerTo(request, sign(request, ring))) };
      }),
    );
    expect(answers.filter(({ status }) => status === 401)).toEqual([]);
    expect(new Set(SIGNED_ROUTES.map(({ service }) => service)).size).toBe(7);
    printFigure(
      'forged principals',
      `${Object.keys(FORGERIES).length} on each of ${SIGNED_ROUTES.length} routes, all rejected`,
    );
  });

  it('is missing, on an unknown path', async () => {
    for (const audience of new Set(SIGNED_ROUTES.map(({ service }) => service))) {
      expect(await answerTo({ audience, method: 'GET', target: '/nothing' }, undefined)).toEqual({
        status: 401,
        code: 'MISSING_API_KEY',
      });
    }
  });
});
