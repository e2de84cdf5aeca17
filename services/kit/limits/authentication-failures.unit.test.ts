import { expect, test } from 'vitest';
import { ManualClock } from '../clock.ts';
import { type Address, parseAddress } from '../downstream/client-address.ts';
import { AuthenticationFailures } from './authentication-failures.ts';

const at = (text: string) => parseAddress(text) as Address;
const ADDRESS = at('203.0.113.7');

function fail(failures: AuthenticationFailures, address: Address, times: number): boolean[] {
  return Array.from({ length: times }, () => failures.count(address).exhausted);
}

test('the 31st failure of a window is the first that exceeds the limit', () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1) + 20_500);
  const failures = new AuthenticationFailures(clock);
  expect(failures.isExhausted(ADDRESS)).toBe(false);
  expect(fail(failures, ADDRESS, 29)).not.toContain(true);
  expect(failures.isExhausted(ADDRESS)).toBe(false);
  expect(failures.count(ADDRESS)).toMatchObject({ exhausted: false, limit: 30, remaining: 0 });
  expect(failures.isExhausted(ADDRESS)).toBe(true);
  expect(failures.count(ADDRESS)).toEqual({
    exhausted: true,
    category: 'authentication',
    limit: 30,
    remaining: 0,
    resetMs: 39_500,
  });
  clock.advance(39_500);
  expect(failures.isExhausted(ADDRESS)).toBe(false);
  expect(failures.count(ADDRESS)).toMatchObject({ exhausted: false, remaining: 29, resetMs: 60_000 });
});

test('addresses are counted separately, those of one IPv6 /64 together, an IPv4 address alike in both notations', () => {
  const failures = new AuthenticationFailures(new ManualClock());
  fail(failures, ADDRESS, 30);
  expect(failures.isExhausted(at('203.0.113.8'))).toBe(false);
  expect(failures.isExhausted(at('::ffff:203.0.113.7'))).toBe(true);
  fail(failures, at('2001:db8:0:1::1'), 30);
  expect(failures.isExhausted(at('2001:db8:0:1:ffff::2'))).toBe(true);
  expect(failures.isExhausted(at('2001:0DB8:0:1:0::3'))).toBe(true);
  expect(failures.isExhausted(at('2001:db8:0:2::1'))).toBe(false);
});

test('an IPv6 /48 has ten times the limit for all of its /64 together', () => {
  const failures = new AuthenticationFailures(new ManualClock());
  for (let network = 0; network < 10; network++) fail(failures, at(`2001:db8:0:${network}::1`), 29);
  const fresh = at('2001:db8:0:ff::1');
  expect(failures.isExhausted(fresh)).toBe(false);
  expect(failures.state(fresh)).toMatchObject({ exhausted: false, remaining: 10 });
  expect(fail(failures, fresh, 11)).toEqual([...Array.from({ length: 10 }, () => false), true]);
  expect(failures.isExhausted(at('2001:db8:0:fe::1'))).toBe(true);
  expect(failures.isExhausted(at('2001:db8:1::1'))).toBe(false);
});

test('above the maximum the address whose last failure is oldest is evicted', () => {
  const failures = new AuthenticationFailures(new ManualClock(), 2);
  fail(failures, at('192.0.2.1'), 30);
  fail(failures, at('192.0.2.2'), 30);
  fail(failures, at('192.0.2.1'), 1);
  fail(failures, at('192.0.2.3'), 1);
  expect(failures.isExhausted(at('192.0.2.1'))).toBe(true);
  expect(failures.isExhausted(at('192.0.2.2'))).toBe(false);
});
