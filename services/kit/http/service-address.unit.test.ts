import { expect, test } from 'vitest';
import { serviceAddress } from './service-address.ts';

test.each([
  ['http://lookup:8081', { host: 'lookup', port: 8081 }],
  ['http://10.0.0.7', { host: '10.0.0.7', port: 80 }],
  ['https://lookup.guild', { host: 'lookup.guild', port: 443 }],
  ['https://[2001:db8::7]:8443', { host: '2001:db8::7', port: 8443 }],
])('the address of %s', (url, address) => {
  expect(serviceAddress(new URL(url))).toEqual(address);
});
