import { expect, test } from 'vitest';
import { ManualClock } from '../clock.ts';
import { type Address, parseAddress } from '../downstream/client-address.ts';
import { KeyLookupRates } from './key-lookup-rates.ts';

const at = (text: string) => parseAddress(text) as Address;
const ADDRESS = at('203.0.113.7');
const GUILD = '900000000000000001';

/** Tries this many lookups and returns how many are allowed; each is for another guild unless one is given. */
function allowed(rates: KeyLookupRates, times: number, address: Address, guildId?: string): number {
  const outcomes = Array.from({ length: times }, (_, index) => rates.take(address, guildId ?? `guild ${index}`));
  return outcomes.filter(Boolean).length;
}

test('an address may cause 5 lookups a second for one guild, and 100 in total', () => {
  const clock = new ManualClock();
  const rates = new KeyLookupRates(clock);
  expect(allowed(rates, 50, ADDRESS, GUILD)).toBe(5);
  expect(allowed(rates, 500, ADDRESS)).toBe(95);
  clock.advance(200);
  expect(allowed(rates, 50, ADDRESS, GUILD)).toBe(1);
  expect(allowed(rates, 500, ADDRESS)).toBe(19);
  clock.advance(60_000);
  expect(allowed(rates, 500, ADDRESS)).toBe(100);
});

test('a lookup that one bucket rejects takes nothing from the other bucket', () => {
  const clock = new ManualClock();
  const rates = new KeyLookupRates(clock);
  expect(allowed(rates, 1_000, ADDRESS, GUILD)).toBe(5);
  expect(allowed(rates, 1_000, ADDRESS)).toBe(95);
  expect(allowed(rates, 1_000, ADDRESS, 'another')).toBe(0);
  clock.advance(50);
  expect(allowed(rates, 5, ADDRESS, 'another')).toBe(5);
});

test('lookups are spread over the second, so that a client that retries every second is served', () => {
  const clock = new ManualClock();
  const rates = new KeyLookupRates(clock);
  allowed(rates, 1_000, ADDRESS);
  const next = [];
  for (let step = 0; step < 10; step++) {
    clock.advance(100);
    next.push(allowed(rates, 1_000, ADDRESS));
  }
  expect(next).toEqual(Array.from({ length: 10 }, () => 10));
});

test('each address has its own bucket; for IPv6 each /64, and each /48 with ten times the rate', () => {
  const rates = new KeyLookupRates(new ManualClock());
  expect(allowed(rates, 500, ADDRESS)).toBe(100);
  expect(allowed(rates, 500, at('203.0.113.8'))).toBe(100);
  expect(allowed(rates, 500, at('2001:db8:0:1::1'))).toBe(100);
  expect(allowed(rates, 500, at('2001:db8:0:1:ffff::2'))).toBe(0);
  const others = Array.from({ length: 20 }, (_, index) => allowed(rates, 500, at(`2001:db8:0:${index + 2}::1`)));
  expect(others.reduce((sum, count) => sum + count, 0)).toBe(900);
  expect(allowed(rates, 500, at('2001:db8:1::1'))).toBe(100);
});

test('a clock that is set back locks nobody out', () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const rates = new KeyLookupRates(clock);
  allowed(rates, 500, ADDRESS);
  clock.advance(-3_600_000);
  expect(allowed(rates, 500, ADDRESS)).toBe(100);
});

test('memory is bounded: the bucket that was used longest ago is evicted', () => {
  const clock = new ManualClock();
  const rates = new KeyLookupRates(clock, 2);
  allowed(rates, 500, at('192.0.2.1'));
  allowed(rates, 500, at('192.0.2.2'));
  expect(allowed(rates, 1, at('192.0.2.1'))).toBe(0);
  allowed(rates, 1, at('192.0.2.3'));
  expect(allowed(rates, 1, at('192.0.2.2'))).toBe(0);
  expect(allowed(rates, 1, at('192.0.2.1'))).toBe(1);
});
