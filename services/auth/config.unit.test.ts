import { expect, test } from 'vitest';
import { internalKeysOf } from '#kit/security/process-keys.ts';
import { readAuthConfig } from './config.ts';

const address = '127.0.0.1:1';
const secret = (letter: string) => letter.repeat(32);
const REQUIRED = {
  INTERNAL_KEYS: internalKeysOf('auth', { internal: [secret('a')], admin: [secret('b')] }),
  DATABASE_URL: 'postgres://localhost/test',
  LOOKUP_GRPC_ADDRESS: address,
  BINDINGS_GRPC_ADDRESS: address,
  MEMBERS_GRPC_ADDRESS: address,
  ACTIVITY_GRPC_ADDRESS: address,
  MODERATION_GRPC_ADDRESS: address,
  EVENTS_GRPC_ADDRESS: address,
  MEMBERS_HTTP_URL: `http://${address}`,
  ACTIVITY_HTTP_URL: `http://${address}`,
  MODERATION_HTTP_URL: `http://${address}`,
};
const CHAT = { CHAT_OAUTH_CLIENT_ID: '1', CHAT_OAUTH_CLIENT_SECRET: 'chat secret' };
const OIDC = { OIDC_ISSUER: 'https://id.example/', OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: 'openid secret' };
const CONSOLE_URL = 'https://console.example';
const read = (given: Record<string, string>) => readAuthConfig({ ...REQUIRED, ...given });

function expectError(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  throw new Error('no error was thrown');
}

test('both providers, one, or none can be configured', () => {
  expect(read({})).toMatchObject({ CONSOLE_URL: undefined, CONSOLE_ANY_GUILD: false });
  expect(read({ CONSOLE_URL })).toMatchObject({ CONSOLE_URL });
  expect(read({ CONSOLE_URL, ...CHAT })).toMatchObject(CHAT);
  expect(read({ CONSOLE_URL, ...CHAT, ...OIDC })).toMatchObject({ ...CHAT, ...OIDC, OIDC_OPERATOR_CLAIM: 'groups' });
});

test('the issuer keeps its trailing slash, because ID tokens name it exactly', () => {
  expect(read({ CONSOLE_URL, ...OIDC }).OIDC_ISSUER).toBe('https://id.example/');
});

test.each([...Object.keys(CHAT), ...Object.keys(OIDC)])('a provider without %s is a fault', (name) => {
  const given = { CONSOLE_URL, ...(name in CHAT ? CHAT : OIDC), [name]: '' };
  expect(() => read(given)).toThrow(new RegExp(`1 error.*\n {2}${name} is required with `));
});

test('all faults are listed together, and none shows a value', () => {
  const given = { CHAT_OAUTH_CLIENT_SECRET: 'chat secret', OIDC_ISSUER: 'not a URL', GRPC_PORT: 'x' };
  const { message } = expectError(() => read(given));
  for (const name of ['CHAT_OAUTH_CLIENT_ID', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'CONSOLE_URL'])
    expect(message).toContain(`${name} is required with`);
  expect(message).toContain('OIDC_ISSUER must be a URL');
  expect(message).toContain('GRPC_PORT must be a whole number');
  expect(message).not.toContain('chat secret');
});

test.each(['http://localhost:8090', 'http://127.0.0.1:8090', 'http://[::1]:8090', 'https://console.example:8443'])(
  'the console may be reached at %s',
  (url) => {
    expect(read({ CONSOLE_URL: url })).toMatchObject({ CONSOLE_URL: url });
  },
);

test.each([
  ['http://console.example', /must begin with https/],
  ['http://127.0.0.1.example', /must begin with https/],
  ['https://console.example/path', /without path/],
  ['https://user:password@console.example', /credentials/],
  ['ftp://console.example', /http/],
])('the console cannot be reached at %s', (url, message) => {
  expect(() => read({ CONSOLE_URL: url })).toThrow(message);
});

test.each(['https://id.example?a=b', 'https://id.example#a', 'https://a:b@id.example', 'ldap://id.example'])(
  'the issuer cannot be %s',
  (issuer) => {
    expect(() => read({ CONSOLE_URL, ...OIDC, OIDC_ISSUER: issuer })).toThrow(/OIDC_ISSUER must be a URL/);
  },
);
