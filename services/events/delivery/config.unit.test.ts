import { expect, test } from 'vitest';
import { type Environment, readConfig } from '#kit/service/config.ts';
import { webhookConfig } from './config.ts';
import { parseProxy } from './proxy.ts';

const read = (environment: Environment) => readConfig(webhookConfig, environment);

test('without variables, webhooks are sent directly, by https and to public addresses', () => {
  expect(read({})).toEqual({ WEBHOOKS_ALLOW_HTTP: false, WEBHOOKS_ALLOWED_NETWORKS: [] });
});

test('networks are IP addresses and CIDRs', () => {
  const networks = { WEBHOOKS_ALLOWED_NETWORKS: '10.0.0.0/8, ::1,192.168.1.1, fd00::/8' };
  expect(read(networks).WEBHOOKS_ALLOWED_NETWORKS).toEqual(['10.0.0.0/8', '::1', '192.168.1.1', 'fd00::/8']);
});

test.each(['localhost', '10.1', '010.0.0.0/8', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', 'fe80::1%eth0', '0x7f.1'])(
  'the network %s is a configuration error',
  (network) => {
    expect(() => read({ WEBHOOKS_ALLOWED_NETWORKS: network })).toThrow(
      'WEBHOOKS_ALLOWED_NETWORKS.0 must hold IP addresses or CIDRs',
    );
  },
);

test.each([
  ['ftp://proxy', 'must be a URL that begins with http://'],
  ['proxy:3128', 'must be a URL that begins with http://'],
  ['http://proxy:3128/path', 'must have no path, query or fragment'],
  ['http://us%er@proxy:3128', 'must have a percent-encoded user and password'],
])('the proxy %s is a configuration error', (proxy, fault) => {
  expect(() => read({ WEBHOOKS_PROXY: proxy })).toThrow(`WEBHOOKS_PROXY ${fault}`);
});

test('a proxy has a host, a port and credentials', () => {
  const { WEBHOOKS_PROXY: url = '' } = read({ WEBHOOKS_PROXY: 'http://us%3Aer:p%40ss@proxy.internal:3128/' });
  const authorization = `Basic ${Buffer.from('us:er:p@ss').toString('base64')}`;
  expect(parseProxy(url)).toEqual({ host: 'proxy.internal', port: 3128, authorization });
  expect(parseProxy('http://[::1]')).toEqual({ host: '::1', port: 80, authorization: undefined });
});
