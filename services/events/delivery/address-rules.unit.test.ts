import ipaddr from 'ipaddr.js';
import { expect, test } from 'vitest';
import { AddressRules } from './address-rules.ts';

const rules = new AddressRules();

/** The first and last address of each network that is not public, and some in between. */
const FORBIDDEN = `
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.0.0.1 127.255.255.255
  168.63.129.16 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.192
  192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.0 192.168.255.255 192.175.48.1 198.18.0.0
  198.19.255.255 198.51.100.1 203.0.113.255 224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.255
  :: ::1 ::10.0.0.1 ::8.8.8.8 ::808:808 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 ::ffff:0:7f00:1 64:ff9b::a00:1 64:ff9b::8.8.8.8
  64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:db8::1
  2002:7f00:1::1 2002:a00:1:: 2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fdff::1 fe80::1
  fe80::1%eth0 fe80::1%1 fec0::1 ff02::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2606:4700::1111%eth0
`.match(/\S+/g) as string[];

const PUBLIC = `
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 169.253.255.255
  172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
  2000::1 2001:200::1 2001:4860:4860::8888 2003::1 2606:4700:4700::1111 2a00:1450::1 3ffe::1
`.match(/\S+/g) as string[];

test.each(FORBIDDEN)('%s is not permitted', (address) => {
  expect(rules.permits(address)).toBe(false);
});

test.each(PUBLIC)('%s is permitted', (address) => {
  expect(rules.permits(address)).toBe(true);
});

test.each([
  '',
  'localhost',
  '127.1',
  '0x7f.0.0.1',
  '010.0.0.1',
  '2130706433',
  '8.8.8',
  '8.8.8.8/8',
  '[::1]',
  ' 8.8.8.8',
  '8.8.8.8 ',
])('text that is not an IP address in its usual spelling is not permitted: %j', (text) => {
  expect(rules.permits(text)).toBe(false);
});

test('every address that ipaddr.js does not count as public is forbidden', () => {
  const samples = Array.from({ length: 0x10000 }, (_, high) => [
    `${high >> 8}.${high & 255}.113.1`,
    `${high.toString(16)}::1`,
  ]).flat();
  const wrong = samples.filter((text) => ipaddr.parse(text).range() !== 'unicast' && rules.permits(text));
  expect(wrong).toEqual([]);
});

test('an allowed network permits its addresses, also as mapped ones, and no others', () => {
  const allowing = new AddressRules(['10.1.0.0/16', '127.0.0.1', 'fd00::/64', '::1']);
  const permitted = ['10.1.0.0', '10.1.255.255', '127.0.0.1', '::ffff:10.1.2.3', 'fd00::5', '::1', '8.8.8.8'];
  expect(permitted.filter((address) => !allowing.permits(address))).toEqual([]);
  const others = ['10.0.255.255', '10.2.0.0', '127.0.0.2', '::ffff:10.2.0.1', 'fd00:0:0:1::1', '::2', '::10.1.0.1'];
  expect(others.filter((address) => allowing.permits(address))).toEqual([]);
});

test('allowing the NAT64 network does not permit private addresses behind it', () => {
  const allowing = new AddressRules(['64:ff9b::/96']);
  expect(allowing.permits('64:ff9b::8.8.8.8')).toBe(true);
  expect(allowing.permits('64:ff9b::10.0.0.1')).toBe(false);
  expect(allowing.permits('64:ff9b::a9fe:a9fe')).toBe(false);
  expect(new AddressRules(['64:ff9b::/96', '10.0.0.0/8']).permits('64:ff9b::10.0.0.1')).toBe(true);
});
