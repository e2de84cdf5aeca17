import { expect, test } from 'vitest';
import { network } from './network.ts';

const isNetwork = (text: string) => network().safeParse(text).success;

test.each([
  '10.0.0.1',
  '10.0.0.0/8',
  '0.0.0.0/0',
  '255.255.255.255/32',
  '::',
  '::/0',
  'fd00::/8',
  'FD00:1::2',
  '2001:db8:0:0:0:0:0:1/128',
  '::ffff:10.0.0.1',
  '::ffff:10.0.0.0/104',
])('%s is a network', (text) => {
  expect(isNetwork(text)).toBe(true);
});

test.each([
  '',
  '10.0.0',
  '10.0.0.256',
  '010.0.0.0/8',
  '10.0.0.0/33',
  '10.0.0.0/',
  '10.0.0.0/8 ',
  'fd00::/129',
  'fd00::1::2',
  'fe80::1%eth0',
  '::ffff:10.0.0.0/8',
  'localhost',
  '10.0.0.0/8,10.1.0.0/16',
])('%j is not a network', (text) => {
  expect(isNetwork(text)).toBe(false);
});
