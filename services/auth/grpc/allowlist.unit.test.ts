import { expect, test } from 'vitest';
import { normaliseAllowlistEntry } from './allowlist.ts';

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['203.0.113.9/32', '203.0.113.9/32'],
  ['10.1.2.3/8', '10.0.0.0/8'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['2001:0DB8:0::1', '2001:db8::1'],
  ['2001:db8::1/32', '2001:db8::/32'],
  ['::/0', '::/0'],
  ['::1/128', '::1/128'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1/120', '192.0.2.0/24'],
  ['::FFFF:c000:201/128', '192.0.2.1/32'],
])('%s is stored as %s', (given, stored) => {
  expect(normaliseAllowlistEntry(given)).toBe(stored);
});

const INVALID = [
  ['', 'localhost', '10.1', '010.0.0.1', '0x7f.0.0.1', '256.0.0.1', ' 10.0.0.1', '1.2.3.4:80', '[::1]', '*'],
  ['10.0.0.0/', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/8 ', '10.0.0.0/255.0.0.0'],
  ['::1/129', 'fe80::1%eth0', '::ffff:10.0.0.0/95'],
].flat();

test.each(INVALID)('%j is not an address', (given) => {
  expect(normaliseAllowlistEntry(given)).toBeUndefined();
});
