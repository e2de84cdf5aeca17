import { expect, test } from 'vitest';
import { testKeys } from '#test/system/keys.ts';
import { readGatewayConfig } from './config.ts';

const SERVICES = ['AUTH', 'LOOKUP', 'BINDINGS', 'MEMBERS', 'ACTIVITY', 'MODERATION', 'EVENTS'];
const urls = (protocol: string) =>
  Object.fromEntries(SERVICES.map((name) => [`${name}_HTTP_URL`, `${protocol}://${name.toLowerCase()}:8080/`]));

test('service URLs with a path, a query, a fragment or credentials are rejected together at start', () => {
  const environment = {
    INTERNAL_KEYS: testKeys(),
    AUTH_GRPC_ADDRESS: 'auth:50051',
    AUTH_HTTP_URL: 'http://auth:8080/base',
    LOOKUP_HTTP_URL: 'http://lookup:8080/base',
    BINDINGS_HTTP_URL: 'http://bindings:8080?a=b',
    MEMBERS_HTTP_URL: 'http://members:8080/#a',
    ACTIVITY_HTTP_URL: 'http://user:password@activity:8080',
    MODERATION_HTTP_URL: 'http://moderation:8080/%2e%2e/a/',
    EVENTS_HTTP_URL: 'http://events:8080/a',
  };
  const fault = 'must be a URL without path, query, fragment and credentials, such as http://host:8080';
  const message = `The configuration has 7 error(s):\n${SERVICES.map((name) => `  ${name}_HTTP_URL ${fault}`).join('\n')}`;
  expect(() => readGatewayConfig(environment)).toThrow(message);
  expect(readGatewayConfig({ ...environment, ...urls('http') }).LOOKUP_HTTP_URL).toBe('http://lookup:8080');
});

test('either the URLs of all services use mutual TLS or none does, and each fault is reported with all others', () => {
  const environment = { INTERNAL_KEYS: testKeys(), AUTH_GRPC_ADDRESS: 'auth' };
  expect(() => readGatewayConfig({ ...environment, ...urls('http'), AUTH_HTTP_URL: 'https://auth:8080' })).toThrow(
    `The configuration has 2 error(s):
  AUTH_GRPC_ADDRESS must be host:port or dns:///host:port
  AUTH_HTTP_URL must begin with http:// unless INTERNAL_TLS_CERT_FILE is given`,
  );
  const withTls = {
    ...environment,
    ...urls('https'),
    INTERNAL_TLS_CERT_FILE: '/a',
    LOOKUP_HTTP_URL: 'http://lookup:1',
  };
  expect(() => readGatewayConfig(withTls)).toThrow(
    'LOOKUP_HTTP_URL must begin with https:// since INTERNAL_TLS_CERT_FILE is given',
  );
});
