import { describe, expect, it } from 'vitest';
import { AddressList, clientAddress } from './client-address.ts';

const trusted = new AddressList(['10.0.0.0/8', '2001:db8::/32', '::ffff:192.168.0.0/112', '172.16.0.1']);
const found = (socket: string, forwarded?: string) => clientAddress(socket, forwarded, trusted)?.toString();

describe('the address of a client', () => {
  it("is the socket's if the peer is not a trusted proxy", () => {
    expect(found('203.0.113.7')).toBe('203.0.113.7');
    expect(found('203.0.113.7', '198.51.100.1')).toBe('203.0.113.7');
    expect(found('::ffff:203.0.113.7')).toBe('203.0.113.7');
  });

  it('is the first from the right that is not a trusted proxy', () => {
    expect(found('10.1.1.1', '198.51.100.1')).toBe('198.51.100.1');
    expect(found('10.1.1.1', '6.6.6.6, 198.51.100.1, 10.2.2.2')).toBe('198.51.100.1');
    expect(found('::ffff:10.1.1.1', '6.6.6.6,198.51.100.1, 192.168.3.4')).toBe('198.51.100.1');
    expect(found('2001:db8::1', '2001:4860::8')).toBe('2001:4860::8');
    expect(found('172.16.0.1', '198.51.100.1:4711')).toBe('198.51.100.1');
    expect(found('172.16.0.1', '[2001:4860::8]:443')).toBe('2001:4860::8');
  });

  it('is the outermost proxy if all addresses are trusted proxies', () => {
    expect(found('10.1.1.1')).toBe('10.1.1.1');
    expect(found('10.1.1.1', '10.3.3.3')).toBe('10.3.3.3');
  });

  it('is undefined behind more than 32 trusted proxies', () => {
    const hops = (count: number) => `198.51.100.1${', 10.2.2.2'.repeat(count)}`;
    expect(found('10.1.1.1', hops(31))).toBe('198.51.100.1');
    expect(found('10.1.1.1', `6.6.6.6,${'7.7.7.7,'.repeat(500)}${hops(31)}`)).toBe('198.51.100.1');
    for (const count of [32, 1_000]) expect(found('10.1.1.1', hops(count))).toBeUndefined();
  });

  it.each([
    '',
    'unknown',
    '198.51.100',
    '0x7f.1',
    '1.2.3.4.5',
    'fe80::1%eth0',
    '198.51.100.1:x',
    '1.2.3.4, ',
    '01.2.3.4',
    '::10.2.2.2',
  ])('is undefined if a trusted proxy forwards %j', (forwarded) => {
    expect(found('10.1.1.1', forwarded)).toBeUndefined();
  });
});

describe('an address list', () => {
  it('matches single addresses and CIDRs of IPv4 and IPv6, and IPv4-mapped IPv6', () => {
    const list = new AddressList(['203.0.113.0/24', '2001:db8::5']);
    const has = (address: string) => list.has(clientAddress(address, undefined, trusted) as never);
    expect([has('203.0.113.9'), has('::ffff:203.0.113.9'), has('2001:db8::5')]).toEqual([true, true, true]);
    expect([has('203.0.114.9'), has('2001:db8::6'), has('::1')]).toEqual([false, false, false]);
  });
});
