import { expect, test } from 'vitest';
import { networkOf, parseAddress } from './client-address.ts';
import { NetworkSlots } from './network-slots.ts';

const network = (address: string) => networkOf(parseAddress(address));

/** How many slots of twenty all these addresses get, if each takes as many as it can. A single one gets two. */
function takenBy(slots: NetworkSlots, addresses: readonly string[]): number {
  const before = slots.taken;
  for (const address of addresses) while (slots.take(network(address)));
  return slots.taken - before;
}
const subnets = (prefix: string) => Array.from({ length: 20 }, (_, index) => `${prefix}:${index}::1`);

test('an address has its share, however many addresses of its /64 it uses', () => {
  expect(takenBy(new NetworkSlots(20, 2), ['192.0.2.1'])).toBe(2);
  expect(takenBy(new NetworkSlots(20, 2), ['2001:db8:1:1::1', '2001:db8:1:1::2'])).toBe(2);
});

test('all networks of an IPv6 /48 have three shares together, and others the rest', () => {
  const slots = new NetworkSlots(20, 2);
  expect(takenBy(slots, subnets('2001:db8:1'))).toBe(6);
  expect(takenBy(slots, ['2001:db8:2::1', '192.0.2.1'])).toBe(4);
});

test('released slots can be taken again, also by other networks of the /48', () => {
  const slots = new NetworkSlots(20, 2);
  takenBy(slots, subnets('2001:db8:1'));
  slots.release(network('2001:db8:1:0::1'));
  expect(slots.taken).toBe(5);
  expect(takenBy(slots, ['2001:db8:1:9::1'])).toBe(1);
});

test('different IPv4 addresses share nothing', () => {
  const addresses = Array.from({ length: 20 }, (_, index) => `192.0.2.${index}`);
  expect(takenBy(new NetworkSlots(20, 2), addresses)).toBe(20);
});
