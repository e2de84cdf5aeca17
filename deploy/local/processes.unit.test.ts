import { expect, test } from 'vitest';
import { internalKeysOf, parseKeys } from '#kit/security/process-keys.ts';
import { purposesOf } from '#kit/security/purposes.ts';
import { DEPLOYABLES, environmentOf, type Ports, type Shared, withoutOthers } from './processes.ts';

const ports: Record<string, Ports> = {
  auth: { admin: 1, http: 22, grpc: 2 },
  lookup: { admin: 3, http: 4, grpc: 5 },
  bindings: { admin: 6, http: 7, grpc: 8 },
  members: { admin: 9, http: 10, grpc: 11 },
  activity: { admin: 13, http: 14, grpc: 15 },
  moderation: { admin: 16, http: 17, grpc: 18 },
  events: { admin: 19, http: 20, grpc: 21 },
  gateway: { admin: 12, public: 8080 },
  console: { admin: 23, public: 8090 },
};
const shared: Shared = {
  databaseUrl: 'postgres://database',
  databaseDirectUrl: undefined,
  redisUrl: 'redis://redis',
  roots: { internal: ['the internal root secret'], admin: ["the operators' root secret"] },
  chatUrl: 'http://chat',
  chatPublicKey: 'abcd',
  gameUrl: 'http://game',
  oidcUrl: 'http://oidc',
  consoleUrl: 'http://console',
  gatewayUrl: 'http://gateway',
};

function environment(name: string, inherited: NodeJS.ProcessEnv = {}, change: Partial<Shared> = {}): NodeJS.ProcessEnv {
  const deployable = DEPLOYABLES.find((candidate) => candidate.name === name);
  if (!deployable) throw new Error(name);
  return environmentOf(deployable, ports, { ...shared, ...change }, inherited);
}

test('the gateway knows its peers and holds neither the database nor the platforms', () => {
  expect(environment('gateway')).toEqual({
    NODE_ENV: 'production',
    LOG_LEVEL: 'info',
    LISTEN_HOST: '127.0.0.1',
    ADMIN_HOST: '127.0.0.1',
    INTERNAL_KEYS: internalKeysOf('gateway', shared.roots),
    ADMIN_PORT: '12',
    GATEWAY_PORT: '8080',
    AUTH_GRPC_ADDRESS: '127.0.0.1:2',
    AUTH_HTTP_URL: 'http://127.0.0.1:22',
    LOOKUP_HTTP_URL: 'http://127.0.0.1:4',
    BINDINGS_HTTP_URL: 'http://127.0.0.1:7',
    MEMBERS_HTTP_URL: 'http://127.0.0.1:10',
    ACTIVITY_HTTP_URL: 'http://127.0.0.1:14',
    MODERATION_HTTP_URL: 'http://127.0.0.1:17',
    EVENTS_HTTP_URL: 'http://127.0.0.1:20',
    REDIS_URL: 'redis://redis',
    CHAT_APPLICATION_PUBLIC_KEY: 'abcd',
  });
});

test('the console holds its public address, neither the database nor an OAuth secret; auth holds the providers', () => {
  const given = environment('console');
  expect(given).toMatchObject({
    CONSOLE_PORT: '8090',
    CONSOLE_URL: 'http://console',
    AUTH_GRPC_ADDRESS: '127.0.0.1:2',
  });
  expect(Object.keys(given)).not.toEqual(expect.arrayContaining([expect.stringMatching(/OAUTH|OIDC|DATABASE|CHAT/)]));
  expect(environment('auth')).toMatchObject({ CONSOLE_URL: 'http://console', OIDC_ISSUER: 'http://oidc' });
  const real = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b' };
  expect(environment('auth', real)).toMatchObject(real);
  expect(environment('auth', real)).not.toHaveProperty('CHAT_OAUTH_CLIENT_ID');
});

test('no process is given a root secret, whatever the shell has set, and each has the keys of its own', () => {
  const shell = { ADMIN_SECRETS: 'mine', INTERNAL_SECRETS: 'mine', INTERNAL_KEYS: 'mine' };
  for (const { name } of DEPLOYABLES) {
    const given = environment(name, shell);
    expect(Object.keys(given)).not.toEqual(expect.arrayContaining([expect.stringMatching(/_SECRETS$/)]));
    expect(JSON.stringify(given)).not.toMatch(/root secret|mine/);
    expect([...parseKeys(given['INTERNAL_KEYS'] ?? '').keys()]).toEqual(purposesOf(name));
  }
  expect(withoutOthers({ ...shell, TRUSTED_PROXIES: 'x' })).toEqual({ TRUSTED_PROXIES: 'x' });
});

test('members talks to the simulators unless real platforms are named', () => {
  expect(environment('members')).toMatchObject({
    CHAT_API_URL: 'http://chat/api/v10',
    GAME_USERS_URL: 'http://game',
    GAME_ECONOMY_URL: 'http://game',
    LOOKUP_GRPC_ADDRESS: '127.0.0.1:5',
  });
  const real = {
    CHAT_API_URL: 'https://chat.example/api',
    CHAT_BOT_TOKEN: 'token',
    GAME_USERS_URL: 'https://users.example',
  };
  expect(environment('members', real)).toMatchObject(real);
  expect(environment('lookup', real)['CHAT_BOT_TOKEN']).toBeUndefined();
});

test("the gateway verifies slash commands of the simulated platform, or with the operator's key, but not with the former for a real platform", () => {
  const keyOf = (inherited: NodeJS.ProcessEnv) => environment('gateway', inherited)['CHAT_APPLICATION_PUBLIC_KEY'];
  const CHAT_API_URL = 'https://chat.example/api';
  expect([keyOf({}), keyOf({ CHAT_API_URL }), keyOf({ CHAT_API_URL, CHAT_APPLICATION_PUBLIC_KEY: 'own' })]).toEqual([
    'abcd',
    undefined,
    'own',
  ]);
});

test("the operator's settings are passed on; ports, addresses and npm's variables of the shell are not", () => {
  const inherited = {
    TRUSTED_PROXIES: '10.0.0.0/8',
    LOG_LEVEL: 'debug',
    HTTP_PORT: '80',
    npm_config_cache: 'x',
    DATABASE_URL: 'y',
  };
  const given = environment('gateway', inherited);
  expect(given).toMatchObject({ TRUSTED_PROXIES: '10.0.0.0/8', LOG_LEVEL: 'debug' });
  for (const name of ['HTTP_PORT', 'npm_config_cache', 'DATABASE_URL']) expect(given).not.toHaveProperty(name);
});

test('without Redis there is no REDIS_URL, so limits and caches are kept in memory', () => {
  expect(environment('gateway', { REDIS_URL: 'redis://other' }, { redisUrl: null })['REDIS_URL']).toBeUndefined();
});

test('the table names only processes that exist', () => {
  const names = DEPLOYABLES.map(({ name }) => name);
  for (const { calls, forwards } of DEPLOYABLES) expect(names).toEqual(expect.arrayContaining([...calls, ...forwards]));
});
