import { expect, test } from 'vitest';
import { Breakers } from '#kit/resilience/breaker.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { Proxy } from './proxy.ts';

test('a route to a service without an address is an error at start', () => {
  const metrics = new Metrics();
  const create = () => new Proxy({ services: {}, timeoutMs: 1, breakers: new Breakers(metrics), metrics });
  expect(create).toThrow(/^the gateway has no address of lookup/);
});
