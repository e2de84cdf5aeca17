import { expect, test } from 'vitest';
import { AddressRules } from './address-rules.ts';
import { normalisedUrl, urlFaults } from './url-rules.ts';

const strict = { allowHttp: false, addresses: new AddressRules() };
const withHttp = { ...strict, allowHttp: true };

const PRIVATE = 'must not have the address of a private or reserved network';
const NOT_A_URL = 'must be a URL such as https://example.com/path, without spaces and backslashes';
const CREDENTIALS = 'must not have a user or a password';
const PORT = 'must have port 443 or a port above 1023';

const GOOD = [
  'https://example.com',
  'https://example.com/path?query=1',
  'https://EXAMPLE.com:443/',
  'https://example.com:1024/',
  'https://example.com:65535/@x',
  'https://bücher.example/ü',
  'https://xn--bcher-kva.example/',
  'https://a_b.example/',
  'https://8.8.8.8/',
  'https://[2606:4700:4700::1111]:8443/',
  'https://localhost/',
  'https://example.com/?to=http://127.0.0.1/%5c',
];

test.each(GOOD)('%s has no faults', (url) => {
  expect(urlFaults(url, strict)).toEqual([]);
});

/** Spellings of loopback, private, link-local, mapped and translated addresses. */
const PRIVATE_HOSTS = `
  127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.0.0.1 0x7F.1 0177.0.0.1 0177.0.0.0x1 017700000001 127.0.0.1. 0 0.0.0.0 0x0
  10.0.0.1 10.1 167772161 012.0.0.1 0xa000001 172.16.0.1 192.168.1.1 192.168.257 3232235777 169.254.169.254 2852039166 0xa9fea9fe
  0251.0376.0251.0376 100.64.0.1 224.0.0.1 255.255.255.255 4294967295 198.18.0.1 203.0.113.1
  １２７.0.0.1 127。0。0。1 ①②⑦.0.0.1 127%2e0%2e0%2e1 %31%32%37.0.0.1
  [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::ffff:0:127.0.0.1] [::127.0.0.1]
  [::7f00:1] [64:ff9b::127.0.0.1] [64:ff9b::a00:1] [2002:7f00:1::] [2001::1] [fc00::1] [fd00:ec2::254] [fe80::1] [fec0::1] [ff02::1]
  [2001:db8::1] [3fff::1] [::ffff:8.8.8.8]
`.match(/\S+/g) as string[];

test.each(PRIVATE_HOSTS)('the private address %s is a fault', (host) => {
  expect(urlFaults(`https://${host}/`, strict)).toEqual([PRIVATE]);
  expect(urlFaults(`http://${host}:8080/`, withHttp)).toEqual([PRIVATE]);
});

test.each([
  ['http://example.com/', ['must begin with https://']],
  ['ftp://example.com/', ['must begin with https://']],
  ['ws://example.com/', ['must begin with https://']],
  ['file:///etc/passwd', [NOT_A_URL]],
  ['javascript:alert(1)', [NOT_A_URL]],
  ['', [NOT_A_URL]],
  ['example.com', [NOT_A_URL]],
  ['https:example.com', [NOT_A_URL]],
  ['https:/example.com', [NOT_A_URL]],
  ['https:///example.com', [NOT_A_URL]],
  ['https:\\\\example.com', [NOT_A_URL]],
  ['https://example.com\\@127.0.0.1/', [NOT_A_URL]],
  [' https://example.com', [NOT_A_URL]],
  ['https://exa\tmple.com', [NOT_A_URL]],
  ['https://example.com/\n', [NOT_A_URL]],
  ['https://example.com/\u0000', [NOT_A_URL]],
  ['https://example.com:99999/', [NOT_A_URL]],
  ['https://[fe80::1%25eth0]/', [NOT_A_URL]],
  ['https://256.256.256.256/', [NOT_A_URL]],
  ['https://user@example.com/', [CREDENTIALS]],
  ['https://user:password@example.com/', [CREDENTIALS]],
  ['https://:@example.com/', [CREDENTIALS]],
  ['https://@example.com/', [CREDENTIALS]],
  ['https://example.com@127.0.0.1/', [CREDENTIALS, PRIVATE]],
  ['https://example.com/#fragment', ['must not have a fragment']],
  ['https://example.com/#', ['must not have a fragment']],
  ['https://example.com:80/', [PORT]],
  ['https://example.com:22/', [PORT]],
  ['https://example.com:0/', [PORT]],
  ['https://example.com:1023/', [PORT]],
  ['https://example.com./', ['must have a host name of at most 253 characters']],
  ['https://a..b/', ['must have a host name of at most 253 characters']],
  [`https://${'a'.repeat(64)}.example/`, ['must have a host name of at most 253 characters']],
  [`https://${'a.'.repeat(127)}example/`, ['must have a host name of at most 253 characters']],
  [`https://example.com/${'a'.repeat(2048)}`, ['must have at most 2048 characters']],
  [`https://example.com/${'ü'.repeat(1000)}`, ['must have at most 2048 characters']],
])('%j has its faults listed', (url, faults) => {
  expect(urlFaults(url, strict)).toEqual(faults);
});

test('http, and port 80 with it, is allowed where the rules allow it', () => {
  const good = ['http://example.com/', 'http://example.com:80/', 'http://example.com:443/', 'http://example.com:3000/'];
  expect(good.flatMap((url) => urlFaults(url, withHttp))).toEqual([]);
  const faults = ['must have port 80, 443 or a port above 1023'];
  expect(urlFaults('http://example.com:81/', withHttp)).toEqual(faults);
  expect(urlFaults('https://example.com:80/', withHttp)).toEqual([PORT]);
  expect(urlFaults('ftp://example.com/', withHttp)).toEqual(['must begin with https:// or http://']);
});

test('addresses of allowed networks are no fault, in any spelling', () => {
  const rules = { ...strict, addresses: new AddressRules(['127.0.0.0/8']) };
  expect(
    ['https://127.0.0.1/', 'https://0x7f.1/', 'https://2130706433/'].flatMap((url) => urlFaults(url, rules)),
  ).toEqual([]);
  expect(urlFaults('https://10.0.0.1/', rules)).toEqual([PRIVATE]);
});

test('a URL is stored with its host in lower case and as IDNA, and no character outside of ASCII', () => {
  expect(normalisedUrl('HTTPS://BÜCHER.example:443/ü?ä=1')).toBe('https://xn--bcher-kva.example/%C3%BC?%C3%A4=1');
});
