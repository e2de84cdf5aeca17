import { expect, test } from 'vitest';
import { testKeys } from '#test/system/keys.ts';
import { readGatewayConfig } from './config.ts';

const SERVICES = ['AUTH', 'LOOKUP', 'BINDINGS', 'MEMBERS', 'ACTIVITY', 'MODERATION', 'EVENTS'];

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
  const sound = Object.fromEntries(SERVICES.map((name) => [`${name}_HTTP_URL`, `http://${name.toLowerCase()}:8080/`]));
  expect(readGatewayConfig({ ...environment, ...sound }).LOOKUP_HTTP_URL).toBe('http://lookup:8080');
});
