import { AuthorizationServer, oauthError } from '../oauth/authorization-server.ts';
import type { Answer, Call, Route } from '../routes.ts';
import { done, ok, Rejection } from '../routes.ts';
import type { Platform } from '../server.ts';
import type { World } from '../world.ts';
import type { OpenIdPerson } from '../world-schema.ts';
import { type Forgery, forgerySchema, IdTokenSigner } from './id-token.ts';

const ACCESS_SECONDS = 300;
const ID_TOKEN_SECONDS = 300;

export type OpenIdOptions = {
  clock: () => number;
  /** The issuer; by default the address under which a request reaches the provider. */
  issuer?: string | undefined;
  /** Where browsers reach the provider, if that is not the issuer. */
  browserUrl?: string | undefined;
};

/** An OpenID provider with the authorization code flow, PKCE, refresh tokens and userinfo. */
export function createOpenIdProvider(world: World, { clock, issuer, browserUrl }: OpenIdOptions): Platform {
  const signer = new IdTokenSigner();
  let forgery: Forgery = forgerySchema.parse({});
  const issuerOf = ({ headers }: Call) => issuer ?? `http://${headers.host}`;
  const persons = () => new Map(world.data.openid.persons.map((person) => [person.sub, person]));
  const server = new AuthorizationServer({
    clock,
    accessSeconds: ACCESS_SECONDS,
    client: () => world.data.openid.client,
    persons: () => [...persons().values()].map(({ sub, name, groups }) => ({ id: sub, name, note: groups.join(', ') })),
    title: 'Sign in to the simulated OpenID provider',
    issuer: issuerOf,
  });
  const find = (sub: string) => persons().get(sub) ?? reject(oauthError(400, 'invalid_grant'));

  const token = (call: Call) => {
    const { grant, access_token, refresh_token } = server.token(call);
    const now = Math.floor(clock() / 1000);
    const claims = { iss: issuerOf(call), aud: grant.clientId, iat: now, exp: now + ID_TOKEN_SECONDS };
    const nonce = grant.nonce === undefined ? {} : { nonce: grant.nonce };
    return ok({
      token_type: 'Bearer',
      access_token,
      expires_in: ACCESS_SECONDS,
      scope: grant.scope,
      // As the specification wants it: without this scope the access ends with the access token.
      ...(grant.scope.split(' ').includes('offline_access') && { refresh_token }),
      id_token: signer.sign({ ...claims, ...nonce, ...claimsOf(find(grant.person)) }, forgery),
    });
  };
  const userinfo = (call: Call) => {
    const grant = server.grantOf(call) ?? reject(invalidToken);
    return ok(claimsOf(find(grant.person)));
  };

  const routes: Route[] = [
    { method: 'GET', pattern: '/.well-known/openid-configuration', handle: (call) => ok(metadata(call)) },
    { method: 'GET', pattern: '/jwks', handle: () => ok(signer.keySet) },
    { method: 'GET', pattern: '/authorize', handle: (call) => server.authorize(call) },
    { method: 'POST', pattern: '/token', handle: token },
    { method: 'GET', pattern: '/userinfo', handle: userinfo },
  ];
  const metadata = (call: Call) => ({
    issuer: issuerOf(call),
    authorization_endpoint: `${browserUrl ?? issuerOf(call)}/authorize`,
    token_endpoint: `${issuerOf(call)}/token`,
    userinfo_endpoint: `${issuerOf(call)}/userinfo`,
    jwks_uri: `${issuerOf(call)}/jwks`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    scopes_supported: ['openid', 'profile', 'groups', 'offline_access'],
    claims_supported: ['sub', 'name', 'groups'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  });
  const forge = done(({ body }) => {
    forgery = forgerySchema.parse(body ?? {});
  });
  const withdraw = done(({ query }) => server.withdraw(query.get('person') ?? undefined));
  const controls: Route[] = [
    { method: 'PUT', pattern: '/__id_token', handle: forge },
    { method: 'DELETE', pattern: '/__grants', handle: withdraw },
    { method: 'DELETE', pattern: '/__access_tokens', handle: done(() => server.expireAccess()) },
  ];
  return { routes, controls, admit: () => ({}), error: (status) => oauthError(status, 'server_error') };
}

const claimsOf = ({ sub, name, groups }: OpenIdPerson) => ({ sub, name, groups });

const invalidToken: Answer = {
  ...oauthError(401, 'invalid_token'),
  headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
};

function reject(answer: Answer): never {
  throw new Rejection(answer);
}
